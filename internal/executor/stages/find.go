package stages

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"paddock"
)

// name of the supervisor's binary, beside the one that starts it.
const name = "paddock-stage"

// A Binary is the supervisor's binary as it was found. The zero Binary is none.
type Binary struct {
	// Path is where it is; empty for the one inside this program.
	Path string
	// Digest is set for the one inside this program.
	Digest paddock.Digest

	content []byte // of the one inside this program
}

// Find finds the supervisor's binary: stage if that is given, else the one
// beside the running program, else the one that release builds carry inside.
func Find(stage string) (Binary, error) {
	if stage != "" {
		path, err := filepath.Abs(stage)
		if err == nil {
			err = executable(path)
		}
		return Binary{Path: path}, err
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return Binary{}, fmt.Errorf("can't find out where this program is, to look for %s beside it: %w", name, err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	err = executable(path)
	if errors.Is(err, os.ErrNotExist) && len(embedded) > 0 {
		return inside()
	}
	return Binary{Path: path}, err
}

// Sum returns the digest of the binary, read from the file if it is one.
func (b Binary) Sum() (paddock.Digest, error) {
	if b.Digest != "" {
		return b.Digest, nil
	}
	f, err := os.Open(b.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return paddock.DigestOf([32]byte(h.Sum(nil))), nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	install := fmt.Sprintf("install it with `go build -o %s ./cmd/%s` in Paddock's sources", path, name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return missing{fmt.Sprintf("the supervisor %s is missing: %s", path, install)}
	case err != nil:
		return fmt.Errorf("the supervisor can't be used: %w", err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("the supervisor %s isn't an executable file: %s", path, install)
	}
	return nil
}

// missing is os.ErrNotExist in words that say what to do.
type missing struct{ text string }

func (m missing) Error() string        { return m.text }
func (m missing) Is(target error) bool { return target == os.ErrNotExist }
