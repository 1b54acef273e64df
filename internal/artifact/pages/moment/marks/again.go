package marks

import (
	"errors"
	"io"
)

// Of returns what the file of a stream holds, read to its end: empty for a short
// one, which needs none.
func Of(r io.Reader) ([]byte, error) {
	var records buffer
	w := Writer{Open: func() (io.WriterAt, error) { return &records, nil }}
	p := make([]byte, Block)
	for {
		n, err := r.Read(p)
		w.Add(p[:n])
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// buffer takes records one after the other.
type buffer []byte

func (b *buffer) WriteAt(p []byte, off int64) (int, error) {
	if off != int64(len(*b)) {
		return 0, errors.New("records come out of order")
	}
	*b = append(*b, p...)
	return len(p), nil
}
