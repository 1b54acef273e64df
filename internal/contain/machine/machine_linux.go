// Package machine says, as a value, what this machine can do to contain a run and
// which system directories it has.
//
// # Limits
//
// It can't tell whether a namespace will be given without asking for one. On
// other systems than Linux it knows of no level, so that nothing runs there.
package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/kernfs"
)

// ErrUnavailable marks what this machine can't give.
var ErrUnavailable = errors.New("not available here")

// A Host is what this machine can do and what it has, as a value.
type Host struct {
	EUID, EGID int
	// LandlockABI is zero when the kernel has no Landlock, or it is switched off.
	LandlockABI int
	// UserNamespaces says why there are none; empty means that there are.
	UserNamespaces string
	// Directories are the system's, Links those that are only links to others.
	Directories []string
	Links       map[string]string
	// Libraries are those with libraries, which aren't links.
	Libraries []string
	// Etc lists what of /etc is shown, Names what is shown beside it where the
	// host's network is.
	Etc, Names []Entry
	// Sources are the very files and directories that these were, and the devices.
	Sources []Source
	// Coreless is set where our own limit is that cores have no byte, which nobody without privileges can raise by that one by
	// which no program of the machine gets them, and where none would: then there are none as it is.
	Coreless bool

	files map[string]bool
}

// An Entry is a file or a directory of the host.
type Entry struct {
	Path string
	Dir  bool
}

// A Source is a file, or a directory, of which every run is shown something.
type Source struct{ Device, Inode uint64 }

// Devices are those of /dev that every run has.
func Devices() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

// seen remembers what info is about.
func (h *Host) seen(info os.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		h.Sources = append(h.Sources, Source{st.Dev, st.Ino})
	}
}

// IsFile reports whether path was seen as anything else than a directory.
func (h Host) IsFile(path string) bool { return h.files[path] }

// The least Landlock ABI of each level. At standard it is all that holds, and
// only ABI 6 holds signals and abstract sockets.
const (
	abiFull     = 1
	abiStandard = 6
)

// Can returns why level can't be given here, nil if it can. The error says what
// to do about it.
func (h Host) Can(level paddock.Level) error {
	switch level {
	case paddock.Off:
		return nil
	case paddock.Standard:
		if h.LandlockABI < abiStandard {
			return fmt.Errorf("Landlock ABI %d: level standard needs ABI %d (Linux 6.12), and `lsm=` must not leave landlock out: %w", h.LandlockABI, abiStandard, ErrUnavailable)
		}
		return nil
	case paddock.Full:
		if h.UserNamespaces != "" {
			return fmt.Errorf("user namespaces: %s: %w", h.UserNamespaces, ErrUnavailable)
		}
		if h.LandlockABI < abiFull {
			return fmt.Errorf("Landlock isn't there: level full needs Linux 5.13 with landlock among `lsm=`: %w", ErrUnavailable)
		}
		return nil
	}
	return fmt.Errorf("level %q: %w", level, ErrUnavailable)
}

// Levels lists what Can allows, strongest first.
func (h Host) Levels() []paddock.Level {
	var levels []paddock.Level
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		if h.Can(level) == nil {
			levels = append(levels, level)
		}
	}
	return levels
}

// Unavailable says of each level that can't be given what is missing.
func (h Host) Unavailable() map[paddock.Level]string {
	why := map[paddock.Level]string{}
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		if err := h.Can(level); err != nil {
			why[level] = strings.TrimSuffix(err.Error(), ": "+ErrUnavailable.Error())
		}
	}
	return why
}

var libraries = []string{
	"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/local/lib64",
}

var systemDirectories = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"}

// ofEtc is what programs need to find libraries, certificates and alternatives.
var ofEtc = []string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/timezone",
	// Not what lies beside: private keys, whoever may read them.
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf",
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/java-17-openjdk", "/etc/maven", "/etc/python3", "/etc/crypto-policies",
}

// Probe looks at the machine, and at paths to tell files from directories.
func Probe(paths ...string) Host {
	h := Host{EUID: os.Geteuid(), EGID: os.Getegid(), LandlockABI: LandlockABI(), Links: map[string]string{}, files: map[string]bool{}}
	h.UserNamespaces = userNamespaces(h.EUID, func(name string) string {
		b, err := kernfs.Read(name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	})
	h.Coreless = coreless()
	for _, dir := range systemDirectories {
		switch info, err := os.Lstat(dir); {
		case err != nil:
		case info.IsDir():
			h.Directories = append(h.Directories, dir)
			h.seen(info)
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				h.Links[dir] = target
			}
		}
	}
	for _, dir := range libraries {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			h.Libraries = append(h.Libraries, dir)
		}
	}
	for _, path := range ofEtc {
		if info, err := os.Stat(path); err == nil {
			h.Etc = append(h.Etc, Entry{path, info.IsDir()})
			h.seen(info)
		}
	}
	for _, name := range Devices() {
		if info, err := os.Stat("/dev/" + name); err == nil {
			h.seen(info)
		}
	}
	for _, path := range []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			h.Names = append(h.Names, Entry{path, false})
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			h.files[filepath.Clean(path)] = true
		}
	}
	return h
}

// LandlockABI returns zero when the kernel has no Landlock, or it is switched off.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// userNamespaces says why this user gets none, as far as the kernel tells
// without being asked for one.
func userNamespaces(euid int, read func(string) string) string {
	switch {
	case read("/proc/sys/user/max_user_namespaces") == "0":
		return "/proc/sys/user/max_user_namespaces is 0; raise it with sysctl"
	case read("/proc/self/uid_map") == "":
		return "this kernel has none"
	case euid != 0 && read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "ordinary users get none; set sysctl kernel.unprivileged_userns_clone to 1"
	}
	if n, err := strconv.Atoi(read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")); euid != 0 && err == nil && n != 0 {
		return "AppArmor takes their privileges away from ordinary users; set sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or give paddock-stage a profile that allows userns"
	}
	return ""
}

func coreless() bool {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max != 0 {
		return false
	}
	pattern, err := kernfs.Read("/proc/sys/kernel/core_pattern")
	return err == nil && !bytes.HasPrefix(pattern, []byte("|")) && !bytes.HasPrefix(pattern, []byte("@")) // to a program, or to a socket
}
