package contain

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"paddock"
)

// A Copy is a file that nobody can change, sealed, and where the run sees it.
type Copy struct {
	Path string
	File *os.File
	size int64
}

// copyable finds out how large the copies are, and refuses what can't be shown: a
// copy takes its place in a tree that is the run's own, so nothing that is shown
// of the host may lie there, in which somebody could exchange it again.
func (w *Wish) copyable() error {
	w.Copies = slices.Clone(w.Copies)
	for i := range w.Copies {
		c := &w.Copies[i]
		info, err := c.File.Stat()
		if err != nil {
			return err
		}
		c.size = info.Size()
		w.Programs = slices.DeleteFunc(slices.Clone(w.Programs), func(p string) bool { return p == c.Path })
	}
	if len(w.Copies) > 0 && w.Level != paddock.Full {
		return fmt.Errorf("copies of scripts can be shown at level full only: %w", ErrUnavailable)
	}
	return nil
}

// copies puts the copies into the new tree.
func (p *Plan) copies(w Wish, binds []bind, made map[string]bool) error {
	for _, c := range w.Copies {
		if i := slices.IndexFunc(binds, func(b bind) bool { return below(b.path, c.Path) }); i >= 0 {
			return fmt.Errorf("no copy of the pinned script %s can be shown inside %s; give the script and the directories above it to root, or keep it elsewhere: %w", c.Path, binds[i].path, ErrUnavailable)
		}
		path, file, sent := strings.TrimPrefix(c.Path, "/"), newCell(), newCell()
		step, size := "copy of "+c.Path, make([]byte, 4)
		binary.NativeEndian.PutUint32(size, uint32(c.size)) // package pinned copies far less
		p.directory(filepath.Dir(path), made)
		p.Setup = append(p.Setup, Call{
			Step: step, Nr: unix.SYS_OPENAT, Into: file,
			Args: [6]Arg{Number(at), Text(path), Number(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC), Number(0o644)},
		}, Call{
			Step: step, Nr: unix.SYS_SENDFILE, Into: sent, Got: sent, Want: size,
			Args: [6]Arg{Result(file), Number(FirstFile + len(p.Files)), Memory(make([]byte, 8)), Number(c.size)},
		})
		p.setup(step, unix.SYS_FCHMOD, Result(file), Number(0o555))
		p.setup(step, unix.SYS_CLOSE, Result(file))
		p.Files = append(p.Files, c.File)
	}
	return nil
}

// held asks, when nothing is left to do but to execute, whether the lease on what
// is executed is whole: nobody has it open for writing, nor waits for that.
func (p *Plan) held(w Wish) {
	if !w.Held {
		return
	}
	lease, want := newCell(), make([]byte, 4)
	binary.NativeEndian.PutUint32(want, unix.F_RDLCK)
	p.Become = append(p.Become, Call{
		Step: "the pinned executable is being written to", Nr: unix.SYS_FCNTL, Into: lease, Got: lease, Want: want,
		Args: [6]Arg{Number(SlotExec), Number(unix.F_GETLEASE)},
	})
}
