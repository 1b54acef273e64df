package paddock

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Duration is written in JSON as a whole number of milliseconds; the names
// of such fields end in _ms. Zero means "not given".
type Duration time.Duration

// MarshalJSON rounds up, so that a positive duration never becomes "not given".
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.milliseconds())
}

func (d Duration) milliseconds() int64 {
	ms := int64(d) / int64(time.Millisecond)
	if int64(d)%int64(time.Millisecond) > 0 {
		ms++
	}
	return ms
}

// UnmarshalJSON refuses fractions and what would not fit.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return errors.New("want whole milliseconds, as 1500")
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if ms > most || ms < -most {
		return fmt.Errorf("%d ms is longer than can be counted", ms)
	}
	*d = Duration(ms * int64(time.Millisecond))
	return nil
}

// String formats d as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }
