package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// opens holds when none of the files can be opened.
func opens(flags int, paths ...string) Result {
	var tries []try
	for _, path := range paths {
		if path != "" {
			tries = append(tries, try{"open " + filepath.Base(path), open(path, flags)})
		}
	}
	return all(tries...)
}

// open reports whether path can be opened, and leaves it alone.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func stats(path string) Result {
	if path == "" {
		return all()
	}
	var st unix.Stat_t
	return all(try{"stat", unix.Lstat(path, &st)})
}

// links tries to bring a file outside into the root by another name.
func links(t Targets) Result {
	if t.Secret == "" {
		return all()
	}
	hard, soft := filepath.Join(t.Root, "hard-link"), filepath.Join(t.Root, "soft-link")
	hardErr := unix.Link(t.Secret, hard)
	if hardErr == nil {
		hardErr = errors.Join(unix.Unlink(hard)) // nil: it was there
	}
	softErr := unix.Symlink(t.Secret, soft)
	if softErr == nil {
		softErr = open(soft, unix.O_RDONLY)
		if err := unix.Unlink(soft); err != nil && softErr != nil {
			softErr = errors.Join(softErr, err)
		}
	}
	return all(try{"hard link", hardErr}, try{"read by a link", softErr})
}

// writes tries to open a file outside for writing, and to make one beside it.
// One that could be made is left for whoever asks to find, or not: the directory
// may be in a /tmp or /dev/shm of our own.
func writes(t Targets) Result {
	if t.Writable == "" {
		return all()
	}
	made := open(t.Writable+Made, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if made == nil {
		made = errors.New("made, in a view of its own unless it is there outside")
	}
	return all(
		try{"open for writing", open(t.Writable, unix.O_WRONLY|unix.O_APPEND)},
		try{"make a file", made},
	)
}

// makes reports whether a file can be made, and takes it away again.
func makes(path string) error {
	if err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
		return err
	}
	return unix.Unlink(path)
}

// writesSystem tries a new file in /usr, and to set the host's name to what it
// is.
func writesSystem(Targets) Result {
	const setting = "/proc/sys/kernel/hostname"
	return all(
		try{"make a file in /usr", makes("/usr/.paddock-doctor")},
		try{"open " + setting + " for writing", open(setting, unix.O_WRONLY)},
	)
}

// attributes sets a file's mode to what everybody who made it set.
func attributes(t Targets) Result {
	if t.Writable == "" {
		return all()
	}
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	return all(
		try{"chmod", unix.Chmod(t.Writable, 0o600)},
		try{"utimes", unix.UtimesNanoAt(unix.AT_FDCWD, t.Writable, now, 0)},
		try{"setxattr", unix.Setxattr(t.Writable, "user.paddock-doctor", []byte("x"), 0)},
	)
}

// protected tries to make what isn't there in the places of the root that other
// tools execute, and to get the directory above out of the way.
func protected(t Targets) Result {
	at := func(name string) string { return filepath.Join(t.Root, name) }
	moved := unix.Rename(at(".git"), at("moved"))
	if moved == nil {
		moved = errors.Join(unix.Rename(at("moved"), at(".git"))) // nil: it was moved
	}
	return all(
		try{"make .git/hooks/pre-commit", makes(at(".git/hooks/pre-commit"))},
		try{"write .git/config", open(at(".git/config"), unix.O_WRONLY)},
		try{"write .mcp.json", open(at(".mcp.json"), unix.O_WRONLY|unix.O_CREAT)},
		try{"move .git", moved},
	)
}

// devices tries what gives away the machine's memory, disks or log.
func devices(Targets) Result {
	var tries []try
	for _, name := range []string{"mem", "kmsg", "kvm", "fuse", "net/tun", "sda", "vda", "nvme0n1", "loop-control"} {
		tries = append(tries, try{name, open("/dev/"+name, unix.O_RDONLY)})
	}
	return all(tries...)
}

// descriptors holds when there is nothing open but the three. What this program
// itself has opened since is closed at an execution, and what it was given isn't.
func descriptors(Targets) Result {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return untried("list descriptors: " + err.Error())
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			return broken("descriptor %d is %s (%v)", fd, to, err)
		}
	}
	return held("only the three")
}
