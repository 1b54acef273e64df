//go:build linux

package credential

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	list := []Credential{{Name: "A", Place: "a.example:443", Header: "X", Value: "hunter22"}, {Name: "B", Place: "[2001:db8::1]:1", Header: "Y", Value: "z", CA: "pem"}}
	file, err := Seal(list)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 { // whoever reads it doesn't use it up for others
		got, err := Open(file)
		if err != nil || cmp.Diff(list, got) != "" {
			t.Errorf("%v, %v", got, err)
		}
	}
	if _, err := file.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("it can be written: %v", err)
	}
	if err := file.Truncate(1); !errors.Is(err, unix.EPERM) {
		t.Errorf("it can be cut: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", list[0], list[0], list[0], list[:1]); strings.Contains(text, "hunter") {
		t.Errorf("printed as %s", text)
	}
}

func TestOpenSaysNothingOfTheContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("[hunter22"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := Open(file); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v", err)
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := Open(dir); err == nil {
		t.Error("a directory is read")
	}
}
