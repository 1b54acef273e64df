package contain

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/machine"
)

// base is where the new tree is put together before it becomes the root. It is
// covered in the run's own mount namespace only.
const base = "/tmp"

// A bind shows a part of the host in the new tree.
type bind struct {
	path string
	from string // where it is on the host, if not at path
	file bool   // a single file
	real bool   // no link may be on the way, whatever was put there meanwhile
	attr uint64
	tree []byte // the cell of the detached mount
}

const (
	readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	writable = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// tree builds the file system that the program sees: system directories and
// what was granted, read-only but for the workspace; a /tmp, /dev, /proc and
// /etc of its own; and nothing else. Everything of the host is taken hold of
// before the first mount could hide it.
func (p *Plan) tree(w Wish, host Host) error {
	if p.Ground != nil { // where a host's part is a mount that was given to us
		made := map[string]bool{}
		for _, b := range own(w, host) {
			p.take(&b, w.Shown)
			p.put(b, made)
		}
		p.finish(w, host)
		p.seal(w, host)
		return nil
	}
	p.Setup = append(p.Setup, private())
	binds := append(common(w, host), own(w, host)...)
	for i := range binds {
		if !w.covered(binds[i].path) {
			p.take(&binds[i], w.Shown)
		}
	}
	if w.Overlay != "" && w.Lower == nil {
		p.overlay(w)
		p.takeCovered(w, binds, "")
	}
	p.settle(w)
	made := map[string]bool{}
	p.begin(w, made)
	if w.Lower != nil {
		p.overlayShown(w, binds)
	}
	p.furnish(w, host, made)
	if err := p.copies(w, binds, made); err != nil {
		return err
	}
	for _, b := range binds {
		p.put(b, made)
	}
	p.finish(w, host)
	p.proc()
	p.pivot()
	p.seal(w, host)
	return nil
}

// begin mounts what becomes the root.
func (p *Plan) begin(w Wish, made map[string]bool) {
	size := int64(16 << 20)
	for _, c := range w.Copies {
		size += c.size
	}
	p.mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=0755,size=%d", size))
	p.setup("new root", unix.SYS_CHDIR, Text(base))
	for _, dir := range []string{"proc", "dev", "tmp", "etc", "run", "var/tmp", "sys"} {
		p.directory(dir, made)
	}
}

// furnish makes what isn't the host's.
func (p *Plan) furnish(w Wish, host Host, made map[string]bool) {
	tmpfs := fmt.Sprintf("mode=1777,size=%d", cmp.Or(w.Tmp, 1<<30))
	p.mount("tmpfs", "tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpfs)
	p.mount("tmpfs", "var/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpfs)
	p.dev(tmpfs, made)
	for path, target := range host.Links {
		p.setup("link "+path, unix.SYS_SYMLINKAT, Text(target), Number(at), Text(strings.TrimPrefix(path, "/")))
	}
	p.etc(w, host)
}

// finish adds what the run is to trust, and keeps what it may not change.
func (p *Plan) finish(w Wish, host Host) {
	p.trust(w, host)
	p.protect(w)
	if w.ReadOnly { // after it was put there: a mount that was given has its own attributes
		p.attributes(strings.TrimPrefix(w.Root, "/"), unix.MOUNT_ATTR_RDONLY, unix.AT_RECURSIVE)
	}
}

// pivot makes the new tree the root, and lets go of the host's.
func (p *Plan) pivot() {
	p.setup("new root", unix.SYS_PIVOT_ROOT, Text("."), Text("."))
	p.setup("old root", unix.SYS_UMOUNT2, Text("."), Number(unix.MNT_DETACH))
	p.setup("new root", unix.SYS_CHDIR, Text("/"))
}

// seal is the last that is done to the tree.
func (p *Plan) seal(w Wish, host Host) {
	p.attributes("/", unix.MOUNT_ATTR_RDONLY, 0)
	p.noExec(w, host)
	p.terminal(w)
	p.Enforced.Mounts = "private"
}

// common lists what of the host every run is shown.
func common(w Wish, host Host) []bind {
	var all []bind
	for _, dir := range host.Directories {
		all = append(all, bind{path: dir, attr: readOnly})
	}
	for _, file := range etcOf(w, host) {
		all = append(all, bind{path: file.Path, file: !file.Dir, attr: readOnly})
	}
	for _, name := range machine.Devices() {
		all = append(all, bind{path: "/dev/" + name, file: true, attr: device})
	}
	return all
}

// own lists what of the host is shown to this run beside that, outermost first.
func own(w Wish, host Host) []bind {
	all := common(w, host)
	have := func(path string) bool {
		for link := range host.Links {
			if below(link, path) {
				return true
			}
		}
		return slices.ContainsFunc(all, func(b bind) bool { return below(b.path, path) })
	}
	rest := []bind{}
	for _, path := range w.Read {
		rest = append(rest, bind{path: path, attr: readOnly, file: host.IsFile(path), real: w.Real})
	}
	rest = append(rest, bind{path: w.Root, from: w.Stand, attr: writable})
	if w.Home != "" {
		rest = append(rest, bind{path: w.Home, attr: writable})
	}
	for _, path := range w.Write {
		rest = append(rest, bind{path: path, attr: writable, file: host.IsFile(path)})
	}
	for _, path := range w.Programs {
		if !have(path) && !slices.ContainsFunc(rest, func(b bind) bool { return below(b.path, path) }) {
			rest = append(rest, bind{path: path, attr: readOnly, file: true})
		}
	}
	for _, e := range w.Listed {
		if !have(e.Path) && !slices.ContainsFunc(rest, func(b bind) bool { return below(b.path, e.Path) }) {
			rest = append(rest, bind{path: e.Path, attr: readOnly, file: !e.Dir})
		}
	}
	slices.SortStableFunc(rest, func(a, b bind) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	return rest
}

// take gets hold of a part of the host as a mount that is nowhere yet.
func (p *Plan) take(b *bind, shown map[string]*os.File) {
	if given := shown[b.path]; given != nil {
		b.tree = p.hand(given)
		return
	}
	b.tree = newCell()
	const clone = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	take := Call{Step: "show " + b.path, Nr: unix.SYS_OPEN_TREE, Into: b.tree, Args: [6]Arg{Number(at), Text(cmp.Or(b.from, b.path)), Number(clone)}}
	if b.real {
		there := newCell()
		take.Args = [6]Arg{Result(there), Text(""), Number(clone | unix.AT_EMPTY_PATH)}
		p.Setup = append(p.Setup,
			Call{Step: take.Step, Nr: unix.SYS_OPENAT2, Into: there, Args: behindNoLink(cmp.Or(b.from, b.path))},
			take, Call{Step: take.Step, Nr: unix.SYS_CLOSE, Args: [6]Arg{Result(there)}},
		)
	} else {
		p.Setup = append(p.Setup, take)
	}
	attr := unix.MountAttr{Attr_set: b.attr}
	p.setup("show "+b.path, unix.SYS_MOUNT_SETATTR, Result(b.tree), Text(""), Number(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), Memory(bytesOf(&attr)), Number(32))
}

// behindNoLink are the words of openat2 by which no link is followed to path.
func behindNoLink(path string) [6]Arg {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	return [6]Arg{Number(at), Text(path), Memory(bytesOf(&how)), Number(unix.SizeofOpenHow)}
}

// hand hands f over and returns the cell with the number that it will have.
func (p *Plan) hand(f *os.File) []byte {
	cell := newCell()
	binary.NativeEndian.PutUint32(cell, uint32(FirstFile+len(p.Files)))
	p.Files = append(p.Files, f)
	return cell
}

// put shows it at the same path below the new root.
func (p *Plan) put(b bind, made map[string]bool) {
	path := strings.TrimPrefix(b.path, "/")
	if path == "" {
		path = "."
	}
	if b.file {
		p.directory(filepath.Dir(path), made)
		p.file(path, nil)
	} else {
		p.directory(path, made)
	}
	p.setup("show "+b.path, unix.SYS_MOVE_MOUNT, Result(b.tree), Text(""), Number(at), Text(path), Number(unix.MOVE_MOUNT_F_EMPTY_PATH))
	p.setup("show "+b.path, unix.SYS_CLOSE, Result(b.tree))
}

// directory makes path and what is above it, as far as that wasn't made before.
func (p *Plan) directory(path string, made map[string]bool) {
	if path == "." || path == "" || made[path] {
		return
	}
	made[path] = true
	p.directory(filepath.Dir(path), made)
	p.Setup = append(p.Setup, Call{
		Step: "directory /" + path, Nr: unix.SYS_MKDIRAT, Accept: []syscall.Errno{unix.EEXIST, unix.EROFS},
		Args: [6]Arg{Number(at), Text(path), Number(0o755)},
	})
}

// file makes the file path with content.
func (p *Plan) file(path string, content []byte) {
	fd := newCell()
	p.Setup = append(p.Setup, Call{
		Step: "file /" + path, Nr: unix.SYS_OPENAT, Into: fd, Accept: []syscall.Errno{unix.EEXIST, unix.EROFS},
		Args: [6]Arg{Number(at), Text(path), Number(unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC), Number(0o644)},
	})
	if len(content) > 0 {
		p.setup("file /"+path, unix.SYS_WRITE, Result(fd), Memory(content), Number(len(content)))
	}
	p.Setup = append(p.Setup, Call{Step: "file /" + path, Nr: unix.SYS_CLOSE, Args: [6]Arg{Result(fd)}, Accept: []syscall.Errno{unix.EBADF}})
}

func (p *Plan) mount(source, target, kind string, flags uintptr, options string) {
	p.setup("mount "+kind+" on "+target, unix.SYS_MOUNT, Text(source), Text(target), Text(kind), Number(flags), Text(options))
}

func (p *Plan) attributes(path string, set uint64, flags int) {
	attr := unix.MountAttr{Attr_set: set}
	p.setup("seal "+path, unix.SYS_MOUNT_SETATTR, Number(at), Text(path), Number(flags), Memory(bytesOf(&attr)), Number(32))
}

// mostTerminals is how many terminals a run may have at once.
const mostTerminals = 64

func (p *Plan) dev(tmpfs string, made map[string]bool) {
	p.mount("tmpfs", "dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=1m")
	for _, dir := range []string{"dev/shm", "dev/pts"} {
		p.directory(dir, made)
	}
	p.mount("tmpfs", "dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpfs)
	// The machine has some thousands of terminals for all instances together: without a bound
	// one run could take them all, and no other got its own.
	p.mount("devpts", "dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, fmt.Sprintf("newinstance,ptmxmode=0666,mode=0620,max=%d", mostTerminals))
	for name, target := range map[string]string{
		"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2", "dev/ptmx": "pts/ptmx",
	} {
		p.setup("link /"+name, unix.SYS_SYMLINKAT, Text(target), Number(at), Text(name))
	}
}

// etcOf lists what of /etc is shown: on the host's network also the files by
// which that network's names are found.
func etcOf(w Wish, host Host) []Entry {
	if w.Network != "host" {
		return host.Etc
	}
	return append(slices.Clone(host.Etc), host.Names...)
}

// etc makes the few files without which names can't be looked up.
func (p *Plan) etc(w Wish, host Host) {
	user := fmt.Sprintf("%d", host.EUID)
	group := fmt.Sprintf("%d", host.EGID)
	if w.Account != nil {
		user = fmt.Sprint(inside)
		group = user
	}
	for name, text := range map[string]string{
		"passwd":        "root:x:0:0:root:/:/usr/sbin/nologin\npaddock:x:" + user + ":" + group + ":paddock:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		"group":         "root:x:0:\npaddock:x:" + group + ":\nnogroup:x:65534:\n",
		"hosts":         "127.0.0.1 localhost paddock\n::1 localhost\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"resolv.conf":   "",
		"host.conf":     "multi on\n",
		"shells":        "/bin/sh\n",
	} {
		if slices.ContainsFunc(etcOf(w, host), func(e Entry) bool { return e.Path == "/etc/"+name }) {
			continue
		}
		p.file("etc/"+name, []byte(text))
	}
}

// trust gives the run a file of the machine's certificates and its own, and puts
// it over the files in which programs look for the machine's.
func (p *Plan) trust(w Wish, host Host) {
	if len(w.CA) == 0 {
		return
	}
	path, made := strings.TrimPrefix(paddock.CertificatesPath, "/"), map[string]bool{}
	text, places := host.Certificates()
	p.directory(filepath.Dir(path), made)
	p.file(path, slices.Concat(text, []byte("\n"), w.CA))
	for _, place := range places {
		step, tree := "certificates "+place, newCell()
		p.Setup = append(p.Setup, Call{
			Step: step, Nr: unix.SYS_OPEN_TREE, Into: tree,
			Args: [6]Arg{Number(at), Text(path), Number(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)},
		})
		attr := unix.MountAttr{Attr_set: readOnly}
		p.setup(step, unix.SYS_MOUNT_SETATTR, Result(tree), Text(""), Number(unix.AT_EMPTY_PATH), Memory(bytesOf(&attr)), Number(32))
		p.setup(step, unix.SYS_MOVE_MOUNT, Result(tree), Text(""), Number(at), Text(strings.TrimPrefix(place, "/")), Number(unix.MOVE_MOUNT_F_EMPTY_PATH))
		p.setup(step, unix.SYS_CLOSE, Result(tree))
	}
}

// protect mounts the places that must stay as they are over themselves: nothing
// can take the place of a mount point, and most are read-only.
func (p *Plan) protect(w Wish) {
	for _, place := range w.Protect {
		path := strings.TrimPrefix(filepath.Join(w.Root, place.Name), "/")
		step, tree := "protect "+place.Name, newCell()
		p.Setup = append(p.Setup, Call{
			Step: step, Nr: unix.SYS_OPEN_TREE, Into: tree,
			Args: [6]Arg{Number(at), Text(path), Number(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW)},
		})
		if !place.Pinned {
			attr := unix.MountAttr{Attr_set: readOnly}
			p.setup(step, unix.SYS_MOUNT_SETATTR, Result(tree), Text(""), Number(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), Memory(bytesOf(&attr)), Number(32))
		}
		p.setup(step, unix.SYS_MOVE_MOUNT, Result(tree), Text(""), Number(at), Text(path), Number(unix.MOVE_MOUNT_F_EMPTY_PATH))
		p.setup(step, unix.SYS_CLOSE, Result(tree))
		p.Enforced.Protected = append(p.Enforced.Protected, place.Name)
	}
}

// masked are files of /proc that tell of the host, or take orders for it.
var masked = []string{"kcore", "keys", "sysrq-trigger", "timer_list", "sched_debug", "kmsg", "latency_stats"}

// proc shows the run's own processes. It is read-only: whose what is below
// /proc/sys is, and in which namespace, isn't for us to follow.
func (p *Plan) proc() {
	p.mount("proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	fd := newCell()
	missing := []syscall.Errno{unix.ENOENT, unix.EBADF, unix.EACCES, unix.EPERM}
	p.Setup = append(p.Setup,
		Call{
			Step: "no further user namespaces", Nr: unix.SYS_OPENAT, Into: fd, Accept: missing,
			Args: [6]Arg{Number(at), Text("proc/sys/user/max_user_namespaces"), Number(unix.O_WRONLY | unix.O_CLOEXEC)},
		},
		Call{Step: "no further user namespaces", Nr: unix.SYS_WRITE, Args: [6]Arg{Result(fd), Text("0"), Number(1)}, Accept: missing},
		Call{Step: "no further user namespaces", Nr: unix.SYS_CLOSE, Args: [6]Arg{Result(fd)}, Accept: missing},
	)
	for _, name := range masked {
		p.Setup = append(p.Setup, Call{
			Step: "mask /proc/" + name, Nr: unix.SYS_MOUNT, Accept: missing,
			Args: [6]Arg{Text("dev/null"), Text("proc/" + name), Number(0), Number(unix.MS_BIND), Number(0)},
		})
	}
	p.attributes("proc", unix.MOUNT_ATTR_RDONLY, unix.AT_RECURSIVE)
}
