package addenda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"paddock/internal/rundir/record/durable"
)

// noted is the file that says that the journal has the end of a run, and of how many
// addenda it tells. An empty one is of a version that didn't count them, or was torn
// by a power cut: it says that all were told.
const noted = "noted"

// Told says whether the end of the run in dir, and each of its addenda, is known to be
// in the journal.
func Told(dir string) (bool, error) {
	text, err := durable.Read(filepath.Join(dir, noted), 64)
	if err != nil {
		return false, durable.IgnoreMissing(err)
	}
	word := strings.TrimSuffix(string(text), "\n")
	if word == "" {
		return true, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n > most {
		return false, nil //nolint:nilerr // it says nothing, so whoever looks tells what is missing
	}
	_, err = os.Lstat(filepath.Join(dir, Name(n+1)))
	if n == most || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// MarkTold notes that the end and the first n addenda are in the journal.
func MarkTold(dir string, n int) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, noted), os.O_WRONLY|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteAt(fmt.Appendln(nil, n), 0) // one digit, so nobody reads half of it
	return err
}
