package document

import (
	"fmt"
	"math"
	"strconv"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

const (
	// maxArgBytes is the longest argument that Linux takes, its NUL included
	// there (MAX_ARG_STRLEN) and left out here.
	maxArgBytes = 128<<10 - 1
	// maxOutput keeps sums of two streams far from overflow.
	maxOutput = math.MaxInt64 / 4
	// maxMemory is what the kernel can count in pages, and more than there is.
	maxMemory = 1 << 52
)

func (b *builder) duration(v *shape.Value) paddock.Duration {
	if v == nil {
		return 0
	}
	d, err := unit.ParseDuration(v.Text)
	if err != nil {
		b.fault(v, fmt.Sprintf("`%s`: %v", v.Text, err))
	}
	return paddock.Duration(d)
}

func (b *builder) decimal(v *shape.Value) float64 {
	if v == nil {
		return 0
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil { // the shape has checked it
		b.fault(v, "not a number")
	}
	return n
}

func (b *builder) size(v *shape.Value, most int64) int64 {
	if v == nil {
		return 0
	}
	n, err := unit.ParseSize(v.Text)
	switch {
	case err != nil:
		b.fault(v, fmt.Sprintf("`%s`: %v", v.Text, err))
	case n > most:
		b.fault(v, fmt.Sprintf("`%s` is more than the most that is possible, %d bytes", v.Text, most))
	}
	return n
}
