package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/acting"
	"paddock/internal/kernfs"
)

// forkAs forks, as account where there is one: the user namespace then belongs
// to that account and may map it, without anybody outside having to write the
// map. It stays so until the plan says otherwise; nothing of the run exists
// before that.
func forkAs(s *launch, account *paddock.Account) (pid int, err error) {
	var errno syscall.Errno
	forking := func() { pid, errno = fork(s) }
	if account == nil || s.flags&unix.CLONE_NEWUSER == 0 {
		forking()
	} else if err := acting.As(*account, forking); err != nil {
		return 0, &StartError{"identity", err}
	}
	if errno != 0 {
		return 0, &StartError{"clone", errno}
	}
	return pid, nil
}

// UserNamespace makes a user namespace in which nobody is, with these maps. It
// serves to show mounts with other owners; root alone can write such maps.
func UserNamespace(uidMap, gidMap string) (*os.File, error) {
	n, err := NamespaceAhead()
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.Map(uidMap, gidMap)
}

// A Namespace is a user namespace that was made before its maps were known. To fork the
// process that makes it is most of what that takes.
type Namespace struct {
	program *Program
	mapped  sync.Once
	over    chan struct{} // closed when its process may end
}

// NamespaceAhead makes one. It is to be closed.
func NamespaceAhead() (*Namespace, error) {
	n := &Namespace{program: newProgram(""), over: make(chan struct{})}
	made := make(chan error, 1)
	go n.hold(made)
	if err := <-made; err != nil {
		<-n.program.done
		return nil, err
	}
	return n, nil
}

// hold forks the process that makes it, and stays with it on its thread: with that it
// ends. That keeps the namespace there until its maps are written.
func (n *Namespace) hold(made chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := n.program
	defer p.over()
	spec := Spec{Argv: []string{"paddock"}, Plan: contain.NamespacePlan()}
	state, reports, err := p.forkHolder(&spec, cgroupFiles{})
	if err != nil {
		made <- err
		return
	}
	if err = p.awaitStart(state, reports); err != nil {
		err = errors.Join(err, p.socket.Close())
	}
	made <- err
	if err == nil {
		<-n.over
	}
	_ = reports.Close()
	p.Destroy() // it waits for that, unless somebody has stopped it
	p.reapHolder()
}

// Map writes its maps and returns it, once.
func (n *Namespace) Map(uidMap, gidMap string) (file *os.File, err error) {
	err = errors.New("it has maps")
	n.mapped.Do(func() {
		pid := n.program.holder
		if err = errors.Join(writeMap(pid, "uid_map", uidMap), writeMap(pid, "gid_map", gidMap)); err == nil {
			file = n.program.socket
		} else {
			err = errors.Join(err, n.program.socket.Close())
		}
		close(n.over)
	})
	return file, err
}

// Close lets go of it, unless it has maps, and returns when its process has ended. Nil may
// be closed, too.
func (n *Namespace) Close() {
	if n == nil {
		return
	}
	n.mapped.Do(func() {
		_ = n.program.socket.Close() // nothing was read
		close(n.over)
	})
	<-n.program.done
}

func writeMap(pid int, name, text string) error {
	if err := kernfs.Write(fmt.Sprintf("/proc/%d/%s", pid, name), text); err != nil {
		return &StartError{"map of owners", err}
	}
	return nil
}
