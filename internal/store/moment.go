package store

import (
	"database/sql/driver"
	"encoding/json/v2"
	"fmt"
	"time"
)

// A Moment is a time as it is kept: in UTC, to the microsecond, so that what is
// read equals what was written. The zero Moment stands for never.
type Moment struct{ time.Time }

// At is the Moment of t.
func At(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{t.UTC().Truncate(time.Microsecond)}
}

// After is the Moment that is d later; of never, it is never.
func (m Moment) After(d time.Duration) Moment {
	if m.IsZero() {
		return m
	}
	return At(m.Time.Add(d))
}

// Past reports whether m is a moment, and now isn't before it.
func (m Moment) Past(now Moment) bool { return !m.IsZero() && !now.Time.Before(m.Time) }

// Value is microseconds since 1970, and 0 for never.
func (m Moment) Value() (driver.Value, error) {
	if m.IsZero() {
		return int64(0), nil
	}
	us := m.UnixMicro()
	if us <= 0 {
		return nil, fmt.Errorf("%w: the time %s is before 1970", ErrInvalid, m.Format(time.RFC3339))
	}
	return us, nil
}

// Scan reads what Value gave.
func (m *Moment) Scan(src any) error {
	us, ok := src.(int64)
	if !ok || us < 0 {
		return fmt.Errorf("a time is kept as %T %v", src, src)
	}
	*m = Moment{}
	if us > 0 {
		m.Time = time.UnixMicro(us).UTC()
	}
	return nil
}

// A Hash is the SHA-256 of a secret that is random enough to need no slower one.
// The zero Hash is of nothing, and nothing is found by it.
type Hash [32]byte

// IsZero reports whether h is of nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// Value is the 32 bytes.
func (h Hash) Value() (driver.Value, error) {
	if h.IsZero() {
		return nil, fmt.Errorf("%w: no secret was hashed", ErrInvalid)
	}
	return h[:], nil
}

// Scan reads what Value gave.
func (h *Hash) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(h) {
		return fmt.Errorf("a hash is kept as %T", src)
	}
	copy(h[:], b)
	return nil
}

// Words is a short list of short words: labels, scopes.
type Words []string

// Value is the list as JSON.
func (w Words) Value() (driver.Value, error) {
	if len(w) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal([]string(w))
	return string(text), err
}

// Scan reads what Value gave.
func (w *Words) Scan(src any) error {
	var list []string
	switch text := src.(type) {
	case string:
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return fmt.Errorf("a list of words isn't one: %w", err)
		}
	case []byte:
		return w.Scan(string(text))
	default:
		return fmt.Errorf("a list of words is kept as %T", src)
	}
	*w = nil
	if len(list) > 0 {
		*w = list
	}
	return nil
}

// A Blob is bytes that the store doesn't look into.
type Blob []byte

// Value is the bytes, and never NULL.
func (b Blob) Value() (driver.Value, error) { return append([]byte{}, b...), nil }

// Scan reads what Value gave.
func (b *Blob) Scan(src any) error {
	from, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("bytes are kept as %T", src)
	}
	*b = nil
	if len(from) > 0 {
		*b = append(Blob{}, from...)
	}
	return nil
}
