package packed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"paddock"
)

// ErrNoGain says that a stream doesn't get smaller by an eighth.
var ErrNoGain = errors.New("it doesn't get smaller")

// early is after how many blocks that is found out already.
const early = 16

// A Sum is of a stream that was packed or unpacked.
type Sum struct {
	Bytes  int64 // of the stream
	Packed int64 // that it takes, table included; of Unpack zero
	Digest paddock.Digest
}

// Pack writes what r has to w, packed.
func Pack(ctx context.Context, w io.Writer, r io.Reader) (sum Sum, err error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(Block), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return sum, err
	}
	defer enc.Close() //nolint:errcheck // nothing is left in it
	out := &counter{w: w}
	pack, err := seekable.NewWriter(out, enc)
	if err != nil {
		return sum, err
	}
	h, block := sha256.New(), make([]byte, Block)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := io.ReadFull(r, block)
		more = err == nil
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return sum, err
		}
		h.Write(block[:n])
		if _, err := pack.Write(block[:n]); err != nil {
			return sum, err
		}
		sum.Bytes += int64(n)
		if sum.Bytes > MaxBlocks*Block {
			return sum, fmt.Errorf("more than %d bytes can't be packed", int64(MaxBlocks*Block))
		}
		if sum.Bytes >= early*Block && vain(sum.Bytes, out.n) {
			return sum, ErrNoGain
		}
	}
	if err := pack.Close(); err != nil {
		return sum, err
	}
	if sum.Packed = out.n; vain(sum.Bytes, sum.Packed) {
		return sum, ErrNoGain
	}
	sum.Digest = paddock.DigestOf([32]byte(h.Sum(nil)))
	return sum, nil
}

func vain(raw, packed int64) bool { return packed > raw/8*7 }

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Unpack writes the whole stream to w.
func (p *File) Unpack(ctx context.Context, w io.Writer) (sum Sum, err error) {
	h, block := sha256.New(), make([]byte, Block)
	for sum.Bytes < p.size {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		part := block[:min(Block, p.size-sum.Bytes)]
		if n, err := p.ReadAt(part, sum.Bytes); n < len(part) {
			return sum, err
		}
		h.Write(part)
		if _, err := w.Write(part); err != nil {
			return sum, err
		}
		sum.Bytes += int64(len(part))
	}
	sum.Digest = paddock.DigestOf([32]byte(h.Sum(nil)))
	return sum, nil
}
