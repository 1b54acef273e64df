package durable

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"paddock"
)

// Summarize reads a kept stream to its end; a missing one is empty.
func Summarize(ctx context.Context, name string) (paddock.StreamSummary, error) {
	h := sha256.New()
	var n int64
	f, err := Open(name)
	if err == nil {
		buf := make([]byte, 256<<10)
		n, err = io.CopyBuffer(h, contextReader{ctx, f}, buf)
		err = errors.Join(err, f.Close())
	}
	if err := IgnoreMissing(err); err != nil {
		return paddock.StreamSummary{}, err
	}
	return paddock.StreamSummary{Bytes: n, Digest: paddock.DigestOf([32]byte(h.Sum(nil)))}, nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
