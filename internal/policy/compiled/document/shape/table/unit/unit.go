// Package unit reads sizes and times as policies and people write them.
//
// # Limits
//
// Nothing is rounded and nothing guessed: what has no unit is bytes, and a time
// needs one.
package unit

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The forms, as expressions, and what they are in words.
const (
	DurationForm = `^([0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	DurationSay  = "a duration such as 90s, 10m, 1h30m or 30d"
	SizeForm     = `^[1-9][0-9]*(B|KiB|MiB|GiB|TiB)?$`
	SizeSay      = "a size such as 4096, 64KiB or 10MiB, above zero"
)

var (
	durationForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(DurationForm) })
	sizeForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(SizeForm) })
)

// maxTimeout is about 106 years, so that a start time plus it can be counted.
const maxTimeout = math.MaxInt64 / 2

var errTooLarge = errors.New("too large to count")

var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// ParseSize reads a size in bytes such as 4096, 64KiB or 10MiB; it is positive.
func ParseSize(s string) (int64, error) {
	if !sizeForm().MatchString(s) {
		return 0, fmt.Errorf("want %s", SizeSay)
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
	if s == "" || !durationForm().MatchString(s) {
		return 0, fmt.Errorf("want %s", DurationSay)
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
