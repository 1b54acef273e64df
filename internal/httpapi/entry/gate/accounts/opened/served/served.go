// Package served says what changed of a server's settings since it was started before.
//
// # Limits
//
// What is in the files that settings name isn't looked at, secrets among it.
package served

import (
	"crypto/rand"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/internal/app/evidence/census/names"
	"paddock/internal/journal"
	"paddock/internal/journal/short"
)

// Bounds of what is said, and of the file.
const (
	mostValue = 200
	mostSaid  = 4 << 10
	mostFile  = 1 << 20
)

// Changes says how now differs from the settings of the start before, for people; empty
// if in nothing.
func Changes(state string, now map[string]string) string {
	before, err := read(filepath.Join(state, names.Served))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no start before this one is known"
	case err != nil:
		return "what was before isn't known: " + short.Text(err.Error(), mostValue)
	}
	var said []string
	for _, key := range slices.Sorted(maps.Keys(union(before, now))) {
		if was, is := before[key], now[key]; was != is {
			said = append(said, fmt.Sprintf("%s: %s → %s", key, value(was), value(is)))
		}
	}
	return short.Text(strings.Join(said, "; "), mostSaid)
}

func value(s string) string {
	if s == "" {
		return "(none)"
	}
	return fmt.Sprintf("%q", short.Text(s, mostValue))
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func read(path string) (map[string]string, error) {
	f, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	words := map[string]string{}
	return words, jsonv2.Unmarshal(text, &words)
}

// Keep keeps the settings for the next start.
func Keep(state string, now map[string]string) error {
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	temp := filepath.Join(state, "tmp", names.Served+"-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|journal.Guarded, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, filepath.Join(state, names.Served))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}
