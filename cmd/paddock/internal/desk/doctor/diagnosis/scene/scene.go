// Package scene makes the places where a program attempts escapes, with what it is
// after: files, sockets and services, all made for it and thrown away.
//
// # Limits
//
// A scene is for one level, and for one program that attempts.
package scene

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"paddock"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/contain/owner"
	"paddock/internal/contain/probe"
)

// A Scene is where a program attempts escapes at one level: a root, a state
// directory, and what it is after, all made for it and thrown away.
type Scene struct {
	Level   paddock.Level
	dir     string
	Targets probe.Targets
	remove  []string // files beside dir
	open    []interface{ Close() error }
	udp     *net.UDPConn
	ended   chan bool // what came of udp

	answering sync.WaitGroup
}

// mostFiles is what the throw-away policy says of open files.
const mostFiles = 64

// Base is where scenes are made: not in /tmp if that can be helped, because level
// standard doesn't keep programs from it; else at or above the state directory.
func Base(state string, level paddock.Level) string {
	if level == paddock.Standard && os.Geteuid() == 0 && writable("/dev/shm") {
		return "/dev/shm" // another account can get there
	}
	for dir := state; dir != ""; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			if !diagnosis.Shared(dir) && writable(dir) {
				return dir
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if writable("/dev/shm") {
		return "/dev/shm"
	}
	return os.TempDir()
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".paddock-doctor-")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// Build makes a scene below base.
func Build(ctx context.Context, base string, level paddock.Level) (*Scene, error) {
	dir, err := os.MkdirTemp(base, "paddock-doctor-")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	s := &Scene{Level: level, dir: dir}
	if err := errors.Join(s.furnish(), s.listen(ctx)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// At is a path of the scene.
func (s *Scene) At(name string) string { return filepath.Join(s.dir, name) }

// furnish makes the files. What a program may have at this level by the words
// of docs/threat-model.md, because the scene lies in /tmp, isn't a target.
func (s *Scene) furnish() error {
	for _, dir := range []string{"root/.git/hooks", "state", "home/.ssh", "other", "outside", "shown"} {
		if err := os.MkdirAll(s.At(dir), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{
		"root/.git/config", "outside/secret", "outside/victim", "outside/removable", "outside/movable", "home/.ssh/key", "other/file", "policy.yaml", "shown/of-root",
	} {
		if err := os.WriteFile(s.At(name), []byte("paddock doctor made this file\n"), 0o600); err != nil {
			return err
		}
	}
	s.Targets = probe.Targets{Level: s.Level, Root: s.At("root"), PID: os.Getpid(), OpenFiles: mostFiles, User: "daemon"}
	if own, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		s.Targets.PIDNamespace = own
	}
	if s.Level != paddock.Standard || !diagnosis.Shared(s.dir) {
		s.Targets.Outside, s.Targets.Home, s.Targets.Key = s.At("outside"), s.At("home"), s.At("home/.ssh/key")
		s.Targets.Neighbor, s.Targets.State, s.Targets.Journal = s.At("other/file"), s.At("state/format"), s.At("state/journal")
		s.Targets.Policy = s.At("policy.yaml")
	}
	s.Targets.Tmp, s.Targets.Shm = s.beside("/tmp"), s.beside("/dev/shm")
	if err := s.spare(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		s.Targets.RootOnly = s.At("shown/of-root")
		if err := s.entrust(); err != nil {
			return err
		}
	}
	for _, path := range []string{"/etc/fstab", "/etc/debian_version", "/etc/login.defs", "/etc/profile", "/etc/motd"} {
		if f, err := os.Open(path); err == nil {
			s.Targets.Etc = path
			return f.Close()
		}
	}
	return nil
}

// Starter is what is listed, and starts what isn't: a copy of itself, which prints
// its environment and could be started if it were listed.
const Starter = "/usr/bin/env"

// Unlisted is a copy of Starter, which a policy that lists that doesn't list.
func (s *Scene) Unlisted() string { return filepath.Join(s.Targets.Root, "unlisted") }

// spare makes that copy, where there is something to copy.
func (s *Scene) spare() error {
	program, err := os.ReadFile(Starter)
	if err != nil {
		return nil //nolint:nilerr // it isn't attempted then
	}
	return os.WriteFile(s.Unlisted(), program, 0o755)
}

// entrust gives the account as which root's programs run at standard what a
// program's own account has: it isn't for want of rights that it doesn't get at it.
func (s *Scene) entrust() error {
	if s.Level != paddock.Standard {
		return nil
	}
	err := os.Chmod(s.dir, 0o711)
	for _, part := range []string{"root", "outside", "home", "other"} {
		err = errors.Join(err, filepath.WalkDir(s.At(part), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, owner.Reserved, owner.Reserved))
		}))
	}
	return err
}

// beside makes a file in a directory that the machine shares, if there is one.
func (s *Scene) beside(dir string) string {
	f, err := os.CreateTemp(dir, "paddock-doctor-")
	if err != nil {
		return ""
	}
	s.remove, s.open = append(s.remove, f.Name()), append(s.open, f)
	if s.Level == paddock.Standard && os.Geteuid() == 0 {
		if err := f.Chown(owner.Reserved, owner.Reserved); err != nil {
			return "" // it would be for want of rights that it isn't got at
		}
	}
	return f.Name()
}

// listen opens what programs must not reach, and answers who does. A machine may
// lack some of it.
func (s *Scene) listen(ctx context.Context) error {
	var config net.ListenConfig
	reach := func(network, address string) net.Addr {
		l, err := config.Listen(ctx, network, address)
		if err != nil {
			return nil
		}
		s.open = append(s.open, l)
		s.answering.Go(func() { answer(l) })
		return l.Addr()
	}
	reach("unix", s.At("outside/socket"))
	reach("unix", s.At("root/socket"))
	if reach("unix", "@"+filepath.Base(s.dir)) != nil {
		s.Targets.Abstract = filepath.Base(s.dir)
	}
	s.Targets.TCP4, s.Targets.TCP6 = port(reach("tcp4", "127.0.0.1:0")), port(reach("tcp6", "[::1]:0"))
	if conn, err := config.ListenPacket(ctx, "unixgram", s.At("outside/datagrams")); err == nil {
		s.open = append(s.open, conn)
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil //nolint:nilerr // no loopback, so nothing to reach
	}
	s.udp, s.Targets.UDP4 = conn, port(conn.LocalAddr())
	s.open, s.ended = append(s.open, conn), make(chan bool, 1)
	s.answering.Go(s.echo)
	return nil
}

func port(a net.Addr) int {
	if a == nil {
		return 0
	}
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return 0
	}
	return int(at.Port())
}

// answer sends a byte to whoever connects, until l is closed.
func answer(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("x")) // who has gone doesn't want it
		_ = conn.Close()
	}
}

// end is what we send ourselves when no more datagrams are to come.
const end = "that was all"

// echo answers datagrams, and says at the end whether one came from a program.
func (s *Scene) echo() {
	defer close(s.ended)
	b, arrived := make([]byte, 64), false
	for {
		n, from, err := s.udp.ReadFrom(b)
		switch {
		case err != nil:
			return
		case string(b[:n]) == end:
			s.ended <- arrived
			return
		}
		arrived = true
		_, _ = s.udp.WriteTo(b[:n], from) // who has gone doesn't want it
	}
}

// heard reports whether a datagram arrived. Ours comes after any other, so there
// is nothing to wait for.
func (s *Scene) heard(ctx context.Context) (bool, error) {
	if s.udp == nil {
		return false, nil
	}
	if _, err := s.udp.WriteTo([]byte(end), s.udp.LocalAddr()); err != nil {
		return false, err
	}
	select {
	case arrived := <-s.ended:
		return arrived, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Outside adds to the results what could be seen only here.
func (s *Scene) Outside(ctx context.Context, results []probe.Result) error {
	arrived, err := s.heard(ctx)
	if err != nil {
		return err
	}
	_, err = os.Lstat(filepath.Join(s.At("outside"), probe.Made))
	made := err == nil
	for i := range results {
		switch r := &results[i]; {
		case r.Check == "udp" && arrived:
			r.Held, r.Detail = false, "a datagram arrived outside"
		case r.Check == "write_outside" && made:
			r.Held, r.Detail = false, "a file was made outside"
		}
	}
	return nil
}

// Policy is a throw-away policy: it permits one program, with these arguments and
// no others, and shows it the directory read.
func (s *Scene) Policy(name, path, argument, read, more string) []byte {
	more = fmt.Sprintf(", network: none, read: [%q]%s", read, more)
	switch {
	case s.Level == paddock.Off:
		more = ""
	case s.Level == paddock.Standard && os.Geteuid() == 0:
		more += fmt.Sprintf(", run_as: %d", owner.Reserved)
	}
	return fmt.Appendf(nil, `version: 1
roots: [{path: %q}]
executables: [{name: %s, path: %q, args: [{allow: [%q]}]}]
limits: {timeout: 1m, open_files: %d}
containment: {require: %s%s}
`, s.Targets.Root, name, path, argument, mostFiles, s.Level, more)
}

// Close takes it all away.
func (s *Scene) Close() error {
	var all []error
	for _, c := range s.open {
		all = append(all, c.Close())
	}
	s.answering.Wait()
	for _, name := range s.remove {
		all = append(all, os.Remove(name))
	}
	all = append(all, os.RemoveAll(s.dir))
	return errors.Join(all...)
}
