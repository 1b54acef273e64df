package desk

import "time"

// Since is the time that a word names: a day, a moment, or how long ago.
func (d *Desk) Since(word string) (time.Time, error) {
	if word == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, word, time.Local); err == nil {
			return t, nil
		}
	}
	if ago, err := time.ParseDuration(word); err == nil && ago > 0 {
		return d.Now().Add(-ago), nil
	}
	return time.Time{}, Usage(Quote(word)+" isn't a time", "write 2026-11-29, 2026-11-29T12:00:00Z, or how long ago: 90m")
}
