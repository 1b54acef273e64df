package early

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// prefix begins the names. No run's does.
const prefix = "ahead-"

// Is reports whether name is of a directory that is no run's yet.
func Is(name string) bool { return strings.HasPrefix(name, prefix) }

// A Directory is one that was made and is ours. It is to be given a name, or removed.
type Directory struct {
	folder, path string
	lock         int
	files        map[string]int // open to be written
}

// Make makes one in folder, with these files open. Those that aren't there aren't opened.
func Make(folder string, names ...string) (_ *Directory, err error) {
	d := &Directory{folder: folder, path: path.Join(folder, prefix+rand.Text()), lock: -1, files: map[string]int{}}
	if err := unix.Mkdir(d.path, 0o755); err != nil {
		return nil, &os.PathError{Op: "mkdir", Path: d.path, Err: err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Remove())
		}
	}()
	if d.lock, err = unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, &os.PathError{Op: "open", Path: d.path, Err: err}
	}
	// Who sweeps may have it for a moment, and then it is gone.
	if err = unix.Flock(d.lock, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return nil, &os.PathError{Op: "lock", Path: d.path, Err: err}
	}
	for _, name := range names {
		fd, err := unix.Open(path.Join(d.path, name), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path.Join(d.path, name), Err: err}
		}
		d.files[name] = fd
	}
	return d, nil
}

// Folder is where it was made.
func (d *Directory) Folder() string { return d.folder }

// Path is where it is.
func (d *Directory) Path() string { return d.path }

// Set writes to a file of it; fs.ErrNotExist where that wasn't there.
func (d *Directory) Set(name, value string) error {
	fd, ok := d.files[name]
	if !ok {
		return &os.PathError{Op: "write", Path: path.Join(d.path, name), Err: fs.ErrNotExist}
	}
	if _, err := unix.Write(fd, []byte(value)); err != nil {
		return &os.PathError{Op: "write", Path: path.Join(d.path, name), Err: err}
	}
	return nil
}

// Take returns the open file called name, which is the caller's then.
func (d *Directory) Take(name string) (*os.File, error) {
	fd, ok := d.files[name]
	if !ok {
		return nil, &os.PathError{Op: "open", Path: path.Join(d.path, name), Err: fs.ErrNotExist}
	}
	delete(d.files, name)
	return os.NewFile(uintptr(fd), path.Join(d.path, name)), nil
}

// Name renames it, and lets go of what wasn't taken: it is somebody's now.
func (d *Directory) Name(name string) (at string, err error) {
	at = path.Join(d.folder, name)
	if err := unix.Rename(d.path, at); err != nil { // a cgroup is never put in another's place
		return "", &os.LinkError{Op: "rename", Old: d.path, New: at, Err: err}
	}
	d.path = at
	d.close()
	return at, nil
}

func (d *Directory) close() {
	for _, fd := range d.files {
		_ = unix.Close(fd) // nothing was buffered
	}
	d.files = nil
	if d.lock >= 0 {
		_ = unix.Close(d.lock) // with the lock
		d.lock = -1
	}
}

// Remove takes it away.
func (d *Directory) Remove() error {
	d.close()
	if err := unix.Rmdir(d.path); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: d.path, Err: err}
	}
	return nil
}

// Sweep takes away those in folder that nobody has any more. What can't be looked at, or
// is gone meanwhile, is left.
func Sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if Is(e.Name()) && e.IsDir() {
			sweep(path.Join(folder, e.Name()))
		}
	}
}

func sweep(at string) {
	fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = unix.Rmdir(at) // it may have a name by now, and then it isn't there
	}
	_ = unix.Close(fd)
}

// Clear takes away the directories in folders that are nobody's, and those of runs that
// are empty, but those to keep. It returns the names of those that have processes.
func Clear(folders []string, keep func(name string) bool) (busy []string, err error) {
	var failed []error
	for _, folder := range folders {
		Sweep(folder)
		entries, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		failed = append(failed, err)
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && !Is(name) && !keep(name) {
				switch err := os.Remove(path.Join(folder, name)); {
				case errors.Is(err, unix.EBUSY):
					busy = append(busy, name)
				case !errors.Is(err, fs.ErrNotExist):
					failed = append(failed, err)
				}
			}
		}
	}
	slices.Sort(busy)
	return slices.Compact(busy), errors.Join(failed...)
}
