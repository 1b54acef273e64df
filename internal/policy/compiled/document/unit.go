package document

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
)

const (
	// maxArgBytes is the longest argument that Linux takes, its NUL included
	// there (MAX_ARG_STRLEN) and left out here.
	maxArgBytes = 128<<10 - 1
	// maxOutput keeps sums of two streams far from overflow.
	maxOutput = math.MaxInt64 / 4
	// maxMemory is what the kernel can count in pages, and more than there is.
	maxMemory = 1 << 52
	// maxTimeout is about 106 years, so that a start time plus it can be counted.
	maxTimeout = math.MaxInt64 / 2
)

var errTooLarge = errors.New("too large to count")

var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// ParseSize reads a size in bytes such as 4096, 64KiB or 10MiB; it is positive.
func ParseSize(s string) (int64, error) {
	if !size.Pattern.MatchString(s) {
		return 0, fmt.Errorf("want %s", size.Say)
	}
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes {
			return 0, errTooLarge
		}
		return n * u.bytes, nil
	}
	return 0, errTooLarge // the last unit is empty, so this is never reached
}

// ParseDuration reads a positive duration as time.ParseDuration does, with days
// (24 hours each) before the rest: 30d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" || !duration.Pattern.MatchString(s) {
		return 0, fmt.Errorf("want %s", duration.Say)
	}
	var days, rest time.Duration
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil || n > int64(maxTimeout/(24*time.Hour)) {
			return 0, errTooLarge
		}
		days, s = time.Duration(n)*24*time.Hour, tail
	}
	if s != "" {
		var err error
		if rest, err = time.ParseDuration(s); err != nil {
			return 0, errTooLarge
		}
	}
	switch {
	case days > maxTimeout-rest:
		return 0, errTooLarge
	case days+rest < time.Millisecond:
		return 0, errors.New("want at least 1ms")
	}
	return days + rest, nil
}

func (b *builder) duration(v *shape.Value) paddock.Duration {
	if v == nil {
		return 0
	}
	d, err := ParseDuration(v.Text)
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
	n, err := ParseSize(v.Text)
	switch {
	case err != nil:
		b.fault(v, fmt.Sprintf("`%s`: %v", v.Text, err))
	case n > most:
		b.fault(v, fmt.Sprintf("`%s` is more than the most that is possible, %d bytes", v.Text, most))
	}
	return n
}
