// Package lineage reads what belongs to a policy beside its own file: the file that
// it extends, the one that this extends, and so on, and the floor of the machine.
//
// Each of them is believed on the same terms as the policy: it and every directory
// above it belong to root or to the user, and nobody else can write there. The floor
// must be root's alone.
//
// # Limits
//
// It reads files and compiles nothing: what is wrong is handed on as a problem of
// the file, and becomes a fault of the policy with its place.
package lineage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/trust"
)

// Floor is where the floor of a machine lies, if it has one.
const Floor = "/etc/paddock/floor.yaml"

// Bounds of what is read.
const (
	mostDeep  = 8
	mostBytes = 4 << 20
)

// A Reader reads what belongs to policies. The zero Reader knows no floor.
type Reader struct {
	// User is whose files are believed, beside root's.
	User trust.Owner
	// Floor is the absolute path of the floor; empty is none. Keeper is whose file
	// it must be, beside root's.
	Floor  string
	Keeper trust.Owner
}

// System returns the Reader of this machine and user.
func System() Reader { return Reader{User: trust.User(), Floor: Floor, Keeper: trust.UID(0)} }

// More returns what belongs to the policy data, the content of the file with the
// absolute path name, in the order in which package policy takes it. What can't be
// read is a problem of its file.
func (r Reader) More(name string, data []byte) []policy.Source {
	more, err := r.Read(name, data)
	if err != nil {
		more = append(more, policy.Source{Name: name, Problem: err.Error()})
	}
	return more
}

// Read is More, but where a file can't be read by no fault of its own, as when no
// descriptors are left, that is the error.
func (r Reader) Read(name string, data []byte) ([]policy.Source, error) {
	var more []policy.Source
	seen := []string{name}
	for at := table.Extended(name, data); at != ""; {
		s := policy.Source{Name: at}
		switch {
		case slices.Contains(seen, at):
			s.Problem = "it extends itself, by way of " + strings.Join(seen, " and ")
		case len(seen) > mostDeep:
			s.Problem = fmt.Sprintf("at most %d files are extended one by the other", mostDeep)
		case !filepath.IsAbs(at):
			s.Problem = "this policy is no file that another could lie beside; name an absolute path"
		default:
			var err error
			if s.Data, s.Problem, err = read(r.User, at); err != nil {
				return nil, err
			}
		}
		more = append(more, s)
		if s.Problem != "" {
			break
		}
		seen = append(seen, at)
		at = table.Extended(at, s.Data)
	}
	floor, ok, err := r.floor()
	if ok {
		more = append(more, floor)
	}
	return more, err
}

// floor reads the floor, if there is one.
func (r Reader) floor() (s policy.Source, ok bool, err error) {
	if r.Floor == "" {
		return policy.Source{}, false, nil
	}
	if _, err := os.Lstat(r.Floor); errors.Is(err, os.ErrNotExist) {
		return policy.Source{}, false, nil
	}
	s = policy.Source{Name: r.Floor, Floor: true}
	s.Data, s.Problem, err = read(r.Keeper, r.Floor)
	return s, err == nil, err
}

// read returns the content of a file that can be believed, or why there is none. The
// error says nothing of the file.
func read(owner trust.Owner, path string) (data []byte, problem string, err error) {
	file, _, err := owner.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, "there is no such file", nil
	case trust.Fault(err):
		return nil, "", fmt.Errorf("the policy %s: %w", path, err)
	case err != nil:
		return nil, err.Error(), nil
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, mostBytes+1))
	switch {
	case trust.Fault(err):
		return nil, "", fmt.Errorf("the policy %s: %w", path, err)
	case err != nil:
		return nil, err.Error(), nil
	case len(data) > mostBytes:
		return nil, fmt.Sprintf("it is larger than %d MiB", mostBytes>>20), nil
	}
	return data, "", nil
}
