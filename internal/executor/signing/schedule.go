package signing

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/journal"
)

// A Schedule says how often a journal is signed, and with which key. At least one
// of Every and Entries is set.
type Schedule struct {
	// Every is how old an entry may become before it is signed.
	Every time.Duration
	// Entries is how many may be there before they are signed.
	Entries int
	// Key is the signing key's absolute path; empty means the one beside the journal.
	Key string
}

// Bounds of a schedule: signing reads what was added, and takes the journal's lock.
const (
	leastEvery   = 10 * time.Second
	leastEntries = 10
)

// Check says what is wrong with a schedule.
func (s Schedule) Check() error {
	switch {
	case s.Every == 0 && s.Entries == 0:
		return errors.New("it says neither how often nor after how many entries")
	case s.Every != 0 && s.Every < leastEvery:
		return fmt.Errorf("%s is less than %s", s.Every, leastEvery)
	case s.Entries != 0 && s.Entries < leastEntries:
		return fmt.Errorf("%d entries are less than %d", s.Entries, leastEntries)
	case s.Key != "" && !filepath.IsAbs(s.Key):
		return fmt.Errorf("the key's path %q isn't absolute", s.Key)
	}
	return nil
}

// KeyPath is where the key of the journal at dir is.
func (s Schedule) KeyPath(dir string) string { return KeyPath(dir, s.Key) }

// scheduleFile is the form on disk.
type scheduleFile struct {
	Version int    `json:"version"`
	EveryMS int64  `json:"every_ms,omitempty"`
	Entries int    `json:"entries,omitempty"`
	Key     string `json:"key,omitempty"`
}

const (
	scheduleName = "schedule.json"
	mostSchedule = 16 << 10
)

// ReadSchedule returns the schedule of the journal at dir; nil when there is none.
func ReadSchedule(dir string) (*Schedule, error) {
	file, err := journal.Open(filepath.Join(dir, scheduleName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostSchedule+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	s, err := parseSchedule(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return &s, nil
}

func parseSchedule(text []byte) (Schedule, error) {
	if len(text) > mostSchedule {
		return Schedule{}, fmt.Errorf("it is longer than %d bytes", mostSchedule)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	var f scheduleFile
	if err := in.Decode(&f); err != nil {
		return Schedule{}, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return Schedule{}, errors.New("something comes after it")
	}
	if f.Version != 1 {
		return Schedule{}, fmt.Errorf("it has version %d and this paddock knows only 1", f.Version)
	}
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	if f.EveryMS < 0 || f.EveryMS > longest || f.Entries < 0 {
		return Schedule{}, errors.New("a number in it makes no sense")
	}
	s := Schedule{Every: time.Duration(f.EveryMS) * time.Millisecond, Entries: f.Entries, Key: f.Key}
	return s, s.Check()
}

// SetSchedule writes the schedule of the journal at dir; nil removes it.
func SetSchedule(dir string, s *Schedule) error {
	name := filepath.Join(dir, scheduleName)
	if s == nil {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := s.Check(); err != nil {
		return err
	}
	text, err := json.Marshal(scheduleFile{1, s.Every.Milliseconds(), s.Entries, s.Key})
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, scheduleName+".new-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|journal.Guarded, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
