package contain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/machine"
)

// resolverDirs hold what /etc/resolv.conf usually leads to. It is replaced when
// the machine's network changes, so the files alone wouldn't do.
var resolverDirs = []string{"/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf"}

// Confine takes from this process, in all its threads and for ever, what a proxy
// doesn't need: capabilities, new privileges, executing, every file but those by
// which names are looked up, and abstract Unix sockets. Descriptors that are open
// stay. It must be built without cgo, which has threads of its own.
//
// Where the kernel has no Landlock the files stay.
func Confine() error {
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
		return fmt.Errorf("no new privileges: %w", errno)
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return fmt.Errorf("capabilities: %w", errno)
	}
	abi := machine.LandlockABI()
	if abi < 1 {
		return nil
	}
	handled := rights(abi)
	attr := make([]byte, 24)
	binary.NativeEndian.PutUint64(attr, handled)
	size := 8
	if abi >= 6 {
		size = 24
		// Abstract Unix sockets. Not signals: the runtime sends some to its own
		// threads, each of which is in a domain of its own.
		binary.NativeEndian.PutUint64(attr[16:], 1<<0)
	}
	ruleset, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(unsafe.SliceData(attr))), uintptr(size), 0)
	if errno != 0 {
		return fmt.Errorf("Landlock: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, path := range slices.Concat(namesOfEtc, resolverDirs) {
		if err := readable(int(ruleset), path, handled); err != nil {
			return fmt.Errorf("Landlock rule for %s: %w", path, err)
		}
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("Landlock: %w", errno)
	}
	return nil
}

// readable lets what is at path, if anything is, be read.
func readable(ruleset int, path string, handled uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	beneath := make([]byte, 16) // struct landlock_path_beneath_attr
	binary.NativeEndian.PutUint64(beneath, rightReadFile&handled)
	binary.NativeEndian.PutUint32(beneath[8:], uint32(fd))
	if _, _, errno := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), 1, uintptr(unsafe.Pointer(unsafe.SliceData(beneath))), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
