package look

import (
	"encoding/binary"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/workspace/apply/tree"
)

// A spot is a directory that is still to be looked into.
type spot struct {
	path string
	at   uint8
}

type walk struct {
	Eye
	root   *tree.Root
	before *Before // nil where this is the look before
	seen   Seen
	queue  []spot
	buffer [32 << 10]byte
}

// mostGaps bounds what is listed; of what is left when the bounds are reached the
// nearest to the top are kept, and the last stands for all others.
const mostGaps = 10_000

// Look looks at the tree below root: before the run with nil, and after it with
// what there was before. Directories that keep their owner out, and didn't then,
// are opened; [Seen.GiveBack] ends that.
func (e Eye) Look(root *tree.Root, before *Before) Seen {
	w := &walk{Eye: e, root: root, before: before, queue: []spot{{".", 0}}}
	for len(w.queue) > 0 {
		next := w.queue[0]
		if w.seen.Looked >= e.Entries || e.Over() {
			w.giveUp()
			break
		}
		w.queue = w.queue[1:]
		if why := w.into(next); why != "" {
			w.gap(next.path, why)
		}
	}
	return w.seen
}

const tooMuch = "there is too much to look at"

func (w *walk) giveUp() {
	for _, s := range w.queue {
		w.gap(s.path, tooMuch)
	}
}

func (w *walk) gap(path, why string) {
	if len(w.seen.Gaps) == mostGaps {
		path, why = ".", tooMuch
	}
	if len(w.seen.Gaps) <= mostGaps {
		w.seen.Gaps = append(w.seen.Gaps, Gap{Path: path, Why: why})
	}
}

// into looks into one directory and says why it couldn't, or not to its end.
func (w *walk) into(s spot) (why string) {
	fd, err := w.open(s.path)
	switch {
	case err == nil:
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return "" // another thing by now
	case errors.Is(err, unix.EXDEV):
		return paddock.MountUnlooked
	case errors.Is(err, unix.EACCES) && w.closed(s.path):
		return "" // what we can't get into the run can't either
	default:
		return reason(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.ReadDirent(fd, w.buffer[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return reason(err)
		case n <= 0:
			return ""
		}
		for rest := w.buffer[:n]; len(rest) > 0; {
			var name string
			var kind uint8
			if name, kind, rest = entry(rest); name == "." || name == ".." {
				continue
			}
			if w.seen.Looked++; w.seen.Looked > w.Entries {
				return tooMuch
			}
			w.look(fd, s, name, kind)
		}
		if w.Over() {
			return tooMuch
		}
	}
}

func reason(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// entry reads one entry of those that the kernel wrote.
func entry(b []byte) (name string, kind uint8, rest []byte) {
	size := int(binary.NativeEndian.Uint16(b[16:]))
	text := b[19:size]
	if end := slices.Index(text, 0); end >= 0 {
		text = text[:end]
	}
	return string(text), b[18], b[size:]
}

// look judges one entry of the directory fd, which is at s.
func (w *walk) look(fd int, s spot, name string, kind uint8) {
	var m Mark
	if kind == unix.DT_UNKNOWN { // a file system that doesn't say
		var err error
		if m, err = stat(fd, name); err != nil {
			return
		}
		kind = unix.DT_REG
		if m.Directory() {
			kind = unix.DT_DIR
		}
	}
	dir := kind == unix.DT_DIR
	match, inside, leaf := w.Judge(s.at, name, dir)
	if !match && (!dir || leaf) {
		return
	}
	full := name
	if s.path != "." {
		full = s.path + "/" + name
	}
	if slices.Contains(w.Except, full) {
		return
	}
	if !match {
		w.queue = append(w.queue, spot{full, inside})
		return
	}
	m, err := stat(fd, name)
	if err != nil {
		return // gone
	}
	m.Path = full
	if w.Ours != nil && w.Ours(full, m.Directory(), m.Written) && (w.before == nil || !w.before.known(m)) {
		w.queue = append(w.queue, spot{full, inside}) // what is in it is looked at by itself
		return
	}
	w.seen.Marks = append(w.seen.Marks, m)
	if m.Directory() && (w.before == nil || w.before.known(m)) {
		w.queue = append(w.queue, spot{full, inside})
	}
}

func stat(fd int, name string) (Mark, error) {
	var st unix.Statx_t
	const mask = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	if err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, mask, &st); err != nil {
		return Mark{}, err
	}
	m := Mark{Mode: uint32(st.Mode), Ino: st.Ino, Ctime: nano(st.Ctime), Written: nano(st.Mtime), Size: int64(st.Size)}
	if st.Mask&unix.STATX_BTIME != 0 {
		m.Born = nano(st.Btime)
	}
	if m.Directory() {
		m.Size = 0 // the file system's own business
	}
	return m, nil
}

func nano(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// open opens a directory. One that keeps its owner out is given the permission,
// unless it was so before the run.
func (w *walk) open(path string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	fd, err := w.root.Descriptor(path, flags, 0)
	if !errors.Is(err, unix.EACCES) || w.before == nil || w.before.unseen(path) {
		return fd, err
	}
	l, lendErr := lend(w.root, path, 0o500)
	if lendErr != nil {
		return -1, err
	}
	w.seen.lent = append(w.seen.lent, l)
	return w.root.Descriptor(path, flags, 0)
}

// closed reports whether a directory is another account's that ours can't get into.
func (w *walk) closed(path string) bool {
	fd, err := w.root.Descriptor(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) == os.Geteuid() {
		return false
	}
	return errors.Is(unix.Faccessat(fd, ".", unix.X_OK, unix.AT_EACCESS), unix.EACCES)
}

// lend adds permissions to a directory of our own account.
func lend(root *tree.Root, path string, more uint32) (lent, error) {
	fd, err := root.Descriptor(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return lent{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return lent{}, err
	}
	if int(st.Uid) != os.Geteuid() {
		return lent{}, unix.EACCES
	}
	return lent{path, st.Ino, st.Mode & 0o7777}, chmod(fd, st.Mode&0o7777|more)
}

// chmod changes what an O_PATH descriptor leads to.
func chmod(fd int, mode uint32) error {
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}

// Open lets our own account write to the directory that name is in, until
// [Seen.GiveBack].
func (s *Seen) Open(root *tree.Root, name string) error {
	l, err := lend(root, path.Dir(name), 0o700)
	if err == nil {
		s.lent = append(s.lent, l)
	}
	return err
}

// GiveBack gives directories the permissions that they had.
func (s *Seen) GiveBack(root *tree.Root) error {
	var errs []error
	for _, l := range slices.Backward(s.lent) { // the innermost first
		fd, err := root.Descriptor(l.path, unix.O_PATH|unix.O_DIRECTORY, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // it was moved
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err == nil && st.Ino == l.ino {
			errs = append(errs, chmod(fd, l.mode))
		}
		errs = append(errs, unix.Close(fd))
	}
	s.lent = nil
	return errors.Join(errs...)
}
