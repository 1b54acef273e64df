package contain

import (
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/machine"
)

// Access rights of Landlock, by the ABI that brought them
// (docs.kernel.org/userspace-api/landlock.html).
const (
	rightExecute   = 1 << 0
	rightWriteFile = 1 << 1
	rightReadFile  = 1 << 2
	rightReadDir   = 1 << 3
	rightTruncate  = 1 << 14 // ABI 3
	rightIoctlDev  = 1 << 15 // ABI 5

	rightsFirst = 1<<13 - 1 // ABI 1
	rightRefer  = 1 << 13   // ABI 2

	read        = rightExecute | rightReadFile | rightReadDir
	onlyOfFiles = rightExecute | rightWriteFile | rightReadFile | rightTruncate | rightIoctlDev
)

// rights returns every right on files that the ABI knows.
func rights(abi int) uint64 {
	all := uint64(rightsFirst)
	if abi >= 2 {
		all |= rightRefer
	}
	if abi >= 3 {
		all |= rightTruncate
	}
	if abi >= 5 {
		all |= rightIoctlDev
	}
	return all
}

// A pathRule grants access below a path.
type pathRule struct {
	path   string
	access uint64
	file   bool
	maybe  bool // it may be missing
	real   bool // no link may be on the way, whatever was put there meanwhile
}

// fullRules repeats for Landlock what the mounts say, so that each holds when
// the other has a hole.
func fullRules(w Wish) []pathRule {
	rules := []pathRule{
		{path: "/", access: read},
		{path: "/dev", access: rightReadFile | rightReadDir | rightWriteFile | rightTruncate | rightIoctlDev},
		{path: "/tmp", access: ^uint64(0)}, {path: "/var/tmp", access: ^uint64(0)}, {path: "/dev/shm", access: ^uint64(0)},
	}
	return append(rules, writableRules(w)...)
}

// namesOfEtc are the host's own files by which names are looked up. Others of
// /etc, the passwords above all, aren't needed to build or test anything.
var namesOfEtc = []string{
	// Git ends when its configuration is there and can't be read.
	"/etc/gitconfig", "/etc/gitattributes",
	"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/gai.conf",
}

// standardRules is all that keeps the program from the host's files.
func standardRules(w Wish, host Host) []pathRule {
	return append(commonRules(w.ReadOnly, host), ownRules(w, host)...)
}

// commonRules are those that runs have in common.
func commonRules(readOnly bool, host Host) []pathRule {
	var rules []pathRule
	for _, dir := range host.Directories {
		rules = append(rules, pathRule{path: dir, access: read})
	}
	for link := range host.Links {
		rules = append(rules, pathRule{path: link, access: read})
	}
	rules = append(rules,
		// Without a namespace an account has what its groups have: disks, consoles and the like.
		pathRule{path: "/etc", access: rightReadDir, maybe: true}, pathRule{path: "/dev", access: rightReadDir, maybe: true},
	)
	if !readOnly { // they are everybody's here, and a root could lie in them
		rules = append(rules, pathRule{path: "/tmp", access: ^uint64(0), maybe: true}, pathRule{path: "/var/tmp", access: ^uint64(0), maybe: true})
	}
	for _, e := range host.Etc {
		rules = append(rules, pathRule{path: e.Path, access: read, file: !e.Dir, maybe: true})
	}
	for _, path := range namesOfEtc {
		rules = append(rules, pathRule{path: path, access: rightReadFile, file: true, maybe: true})
	}
	for _, name := range machine.Devices() {
		rules = append(rules, pathRule{path: "/dev/" + name, access: rightReadFile | rightWriteFile | rightTruncate | rightIoctlDev, file: true, maybe: true})
	}
	return rules
}

// ownRules are those of one run.
func ownRules(w Wish, host Host) []pathRule {
	rules := []pathRule{{path: "/proc", access: read, maybe: true}} // which may be mounted for it alone
	for _, path := range w.Read {
		rules = append(rules, pathRule{path: path, access: read, file: host.IsFile(path), real: w.Real})
	}
	for _, path := range w.Programs {
		rules = append(rules, pathRule{path: path, access: rightExecute | rightReadFile, file: true})
	}
	return append(rules, writableRules(w)...)
}

func writableRules(w Wish) []pathRule {
	var rules []pathRule
	paths := slices.Clone(w.Write)
	if w.ReadOnly {
		rules = append(rules, pathRule{path: w.Root, access: read, real: true})
	} else {
		paths = append(paths, w.Root)
	}
	if w.Home != "" {
		paths = append(paths, w.Home)
	}
	for _, path := range outer(paths) {
		rules = append(rules, pathRule{path: path, access: ^uint64(0), real: path == w.Root || path == w.Home})
	}
	return rules
}

// landlock restricts the program to rules, and to what else the ABI can hold.
func (p *Plan) landlock(w Wish, host Host, rules []pathRule) {
	var ruleset Arg
	if w.Hedge.serves(w, host) {
		ruleset, rules = Number(FirstFile+len(p.Files)), ownRules(w, host)
		p.Files = append(p.Files, w.Hedge.ruleset)
	} else {
		attr := restrictions(w.Level, w.Network, host.LandlockABI)
		cell := newCell()
		ruleset = Result(cell)
		p.Become = append(p.Become, Call{
			Step: "Landlock", Nr: unix.SYS_LANDLOCK_CREATE_RULESET, Into: cell,
			Args: [6]Arg{Memory(attr), Number(len(attr)), Number(0)},
		})
	}
	for _, rule := range w.executable(rules) {
		p.allow(ruleset, rule, rights(host.LandlockABI))
	}
	p.become("Landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, Number(0))
	p.become("Landlock", unix.SYS_CLOSE, ruleset)
	p.Enforced.LandlockABI = host.LandlockABI
	if w.Listed != nil {
		p.Enforced.Exec = paddock.ListedExec
	}
}

// restrictions is a struct landlock_ruleset_attr with all that the ABI can hold.
func restrictions(level paddock.Level, network string, abi int) []byte {
	attr := make([]byte, 24)
	binary.NativeEndian.PutUint64(attr, rights(abi))
	if abi < 4 {
		return attr[:8]
	}
	if network != "host" && level == paddock.Standard { // at full there is nothing to reach
		binary.NativeEndian.PutUint64(attr[8:], 1<<0|1<<1) // bind and connect, TCP
	}
	if abi < 6 {
		return attr[:16]
	}
	binary.NativeEndian.PutUint64(attr[16:], 1<<0|1<<1) // abstract Unix sockets and signals
	return attr
}

// granted is what r grants of the rights that are handled.
func (r pathRule) granted(handled uint64) uint64 {
	if r.file {
		return r.access & handled & onlyOfFiles
	}
	return r.access & handled
}

// missing are the errors by which a path may turn out to be missing.
func missing() []syscall.Errno {
	return []syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.EBADF, unix.EACCES}
}

func (p *Plan) allow(ruleset Arg, rule pathRule, handled uint64) {
	beneath := make([]byte, 16) // struct landlock_path_beneath_attr: access, descriptor
	binary.NativeEndian.PutUint64(beneath, rule.granted(handled))
	fd := beneath[8:12]
	copy(fd, newCell())
	step := fmt.Sprintf("Landlock rule for %s", rule.path)
	var accept []syscall.Errno
	if rule.maybe {
		accept = missing()
	}
	open := Call{Step: step, Nr: unix.SYS_OPENAT, Into: fd, Accept: accept, Args: [6]Arg{Number(at), Text(rule.path), Number(unix.O_PATH | unix.O_CLOEXEC)}}
	if rule.real {
		open.Nr, open.Args = unix.SYS_OPENAT2, behindNoLink(rule.path)
	}
	p.Become = append(p.Become,
		open,
		Call{Step: step, Nr: unix.SYS_LANDLOCK_ADD_RULE, Accept: slices.Clone(accept), Args: [6]Arg{ruleset, Number(1), Memory(beneath), Number(0)}},
		Call{Step: step, Nr: unix.SYS_CLOSE, Accept: slices.Clone(accept), Args: [6]Arg{Result(fd)}},
	)
}
