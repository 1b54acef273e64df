package contain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
)

// A Hedge is a Landlock ruleset that has the rules which runs at level standard have in common,
// made before a run is known: most of what Landlock takes. The run's own are added by its
// program, and by nobody else: a Hedge serves one run. Nil serves none.
//
// A rule is of a file, not of a path. So each is compared before it is used with what is at its
// path by then, and if anything was put there, taken away, or mounted there, the Hedge serves no run.
// What is mounted below what a rule is of is below it; what is mounted for a run alone is among
// its own rules.
type Hedge struct {
	host    Host
	ruleset *os.File
	rules   []hedged
}

// A hedged is what one rule is of; nothing was there if it isn't there.
type hedged struct {
	path  string
	there bool
	is    Identity
}

// hedgeNetwork is that of the runs that a Hedge serves.
const hedgeNetwork = "none"

// NewHedge makes one for host. It is to be closed when the program has it.
func NewHedge(host Host) (*Hedge, error) {
	if err := host.Can(paddock.Standard); err != nil {
		return nil, err
	}
	attr := restrictions(paddock.Standard, hedgeNetwork, host.LandlockABI)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(unsafe.SliceData(attr))), uintptr(len(attr)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("Landlock: %w", errno)
	}
	f := &Hedge{host: host, ruleset: os.NewFile(fd, "Landlock")}
	for _, rule := range commonRules(false, host) {
		if err := f.add(rule); err != nil {
			return nil, errors.Join(fmt.Errorf("Landlock rule for %s: %w", rule.path, err), f.Close())
		}
	}
	return f, nil
}

func (f *Hedge) add(rule pathRule) error {
	fd, err := unix.Open(rule.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if !rule.maybe || !slices.ContainsFunc(missing(), func(e unix.Errno) bool { return errors.Is(err, e) }) {
			return err
		}
		f.rules = append(f.rules, hedged{path: rule.path})
		return nil
	}
	file := os.NewFile(uintptr(fd), rule.path)
	defer file.Close()
	is, err := IdentityOf(file)
	if err != nil {
		return err
	}
	beneath := make([]byte, 16) // struct landlock_path_beneath_attr
	binary.NativeEndian.PutUint64(beneath, rule.granted(rights(f.host.LandlockABI)))
	binary.NativeEndian.PutUint32(beneath[8:], uint32(fd))
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, f.ruleset.Fd(), 1, uintptr(unsafe.Pointer(unsafe.SliceData(beneath))), 0, 0, 0); errno != 0 {
		return errno
	}
	f.rules = append(f.rules, hedged{rule.path, true, is})
	return nil
}

// serves reports whether w, on host as it is now, would get the very rules.
func (f *Hedge) serves(w Wish, host Host) bool {
	return f != nil && w.Level == paddock.Standard && w.Network == hedgeNetwork && !w.ReadOnly && w.Listed == nil &&
		f.host.LandlockABI == host.LandlockABI && slices.Equal(f.host.Directories, host.Directories) && slices.Equal(f.host.Etc, host.Etc) && maps.Equal(f.host.Links, host.Links) &&
		all(f.rules, hedged.same)
}

// same reports whether what the rule is of is at its path.
func (r hedged) same() bool {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, r.path, 0, unix.STATX_INO, &st); err != nil {
		return !r.there
	}
	return r.there && r.is == Identity{st.Dev_major, st.Dev_minor, st.Ino}
}

// Close lets go of it; whoever has it keeps it. Nil may be closed, too.
func (f *Hedge) Close() error {
	if f == nil {
		return nil
	}
	return f.ruleset.Close()
}
