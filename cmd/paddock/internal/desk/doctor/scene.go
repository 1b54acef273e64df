package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/contain/owner"
	"paddock/internal/contain/probe"
)

// A scene is where a program attempts escapes at one level: a root, a state
// directory, and what it is after, all made for it and thrown away.
type scene struct {
	level   paddock.Level
	dir     string
	targets probe.Targets
	remove  []string // files beside dir
	open    []interface{ Close() error }
	udp     *net.UDPConn
}

// mostFiles is what the throw-away policy says of open files.
const mostFiles = 64

// base is where scenes are made: not in /tmp if that can be helped, because
// level standard doesn't keep programs from it.
func (d commands) base(level paddock.Level) string {
	if level == paddock.Standard && os.Geteuid() == 0 && writable("/dev/shm") {
		return "/dev/shm" // another account can get there
	}
	for dir := d.StateDir(d.State); dir != ""; dir = filepath.Dir(dir) {
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

func build(ctx context.Context, base string, level paddock.Level) (*scene, error) {
	dir, err := os.MkdirTemp(base, "paddock-doctor-")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	s := &scene{level: level, dir: dir}
	if err := errors.Join(s.furnish(), s.listen(ctx)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *scene) at(name string) string { return filepath.Join(s.dir, name) }

// furnish makes the files. What a program may have at this level by the words
// of docs/threat-model.md, because the scene lies in /tmp, isn't a target.
func (s *scene) furnish() error {
	for _, dir := range []string{"root/.git/hooks", "state", "home/.ssh", "other", "shown"} {
		if err := os.MkdirAll(s.at(dir), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"root/.git/config", "secret", "writable", "home/.ssh/key", "other/file", "policy.yaml", "shown/of-root"} {
		if err := os.WriteFile(s.at(name), []byte("paddock doctor made this file\n"), 0o600); err != nil {
			return err
		}
	}
	s.targets = probe.Targets{Root: s.at("root"), PID: os.Getpid(), OpenFiles: mostFiles}
	if s.level != paddock.Standard || !diagnosis.Shared(s.dir) {
		s.targets.Secret, s.targets.Writable, s.targets.Key = s.at("secret"), s.at("writable"), s.at("home/.ssh/key")
		s.targets.Other, s.targets.State, s.targets.Policy = s.at("other/file"), s.at("state/format"), s.at("policy.yaml")
	}
	s.targets.Tmp, s.targets.Shm = s.beside("/tmp"), s.beside("/dev/shm")
	if os.Geteuid() == 0 {
		s.targets.RootOnly = s.at("shown/of-root")
		if err := s.entrust(); err != nil {
			return err
		}
	}
	for _, path := range []string{"/etc/fstab", "/etc/hostname", "/etc/debian_version", "/etc/login.defs", "/etc/profile", "/etc/motd"} {
		if f, err := os.Open(path); err == nil {
			s.targets.Etc = path
			return f.Close()
		}
	}
	return nil
}

// entrust gives the account as which root's programs run at standard what a
// program's own account has: it isn't for want of rights that it doesn't get at it.
func (s *scene) entrust() error {
	if s.level != paddock.Standard {
		return nil
	}
	err := os.Chmod(s.dir, 0o711)
	for _, part := range []string{"root", "secret", "writable", "home", "other"} {
		err = errors.Join(err, filepath.WalkDir(s.at(part), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, owner.Reserved, owner.Reserved))
		}))
	}
	return err
}

// beside makes a file in a directory that the machine shares, if there is one.
func (s *scene) beside(dir string) string {
	f, err := os.CreateTemp(dir, "paddock-doctor-")
	if err != nil {
		return ""
	}
	s.remove, s.open = append(s.remove, f.Name()), append(s.open, f)
	if s.level == paddock.Standard && os.Geteuid() == 0 {
		if err := f.Chown(owner.Reserved, owner.Reserved); err != nil {
			return "" // it would be for want of rights that it isn't got at
		}
	}
	return f.Name()
}

// listen opens what programs must not reach. A machine may lack some of it.
func (s *scene) listen(ctx context.Context) error {
	var config net.ListenConfig
	reach := func(network, address string) string {
		l, err := config.Listen(ctx, network, address)
		if err != nil {
			return ""
		}
		s.open = append(s.open, l)
		return l.Addr().String()
	}
	s.targets.Socket = reach("unix", s.at("socket"))
	s.targets.Abstract = reach("unix", "@"+filepath.Base(s.dir))
	s.targets.TCP = reach("tcp4", "127.0.0.1:0")
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil //nolint:nilerr // no loopback, so nothing to reach
	}
	s.udp, s.targets.UDP = conn, conn.LocalAddr().String()
	s.open = append(s.open, conn)
	return nil
}

// heard reports whether a datagram arrived. Ours comes after any other, so there
// is nothing to wait for.
func (s *scene) heard() (bool, error) {
	if s.udp == nil {
		return false, nil
	}
	const end = "that was all"
	if _, err := s.udp.WriteTo([]byte(end), s.udp.LocalAddr()); err != nil {
		return false, err
	}
	if err := s.udp.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return false, err
	}
	b := make([]byte, 64)
	n, _, err := s.udp.ReadFrom(b)
	return err == nil && string(b[:n]) != end, err
}

// outside adds to the results what could be seen only here.
func (s *scene) outside(results []probe.Result) error {
	arrived, err := s.heard()
	if err != nil {
		return err
	}
	_, err = os.Lstat(s.at("writable" + probe.Made))
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

// policy is the throw-away policy: it permits the attempts and nothing else.
func (s *scene) policy(stage string) []byte {
	more := fmt.Sprintf(", network: none, read: [%q]", s.at("shown"))
	switch {
	case s.level == paddock.Off:
		more = ""
	case s.level == paddock.Standard && os.Geteuid() == 0:
		more += fmt.Sprintf(", run_as: %d", owner.Reserved)
	}
	return fmt.Appendf(nil, `version: 1
roots: [{path: %q}]
executables: [{name: paddock-stage, path: %q, args: [{allow: [probe]}]}]
limits: {timeout: 1m, open_files: %d}
containment: {require: %s%s}
`, s.targets.Root, stage, mostFiles, s.level, more)
}

func (s *scene) close() error {
	var all []error
	for _, c := range s.open {
		all = append(all, c.Close())
	}
	for _, name := range s.remove {
		all = append(all, os.Remove(name))
	}
	all = append(all, os.RemoveAll(s.dir))
	return errors.Join(all...)
}
