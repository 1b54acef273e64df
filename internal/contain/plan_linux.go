package contain

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/filter"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/contain/listed"
	"paddock/internal/contain/machine"
	"paddock/internal/contain/protect"
)

// The numbers by which the process in between and the program know what they
// were given. Plans name them; package spawn puts descriptors there.
const (
	SlotReport = 3 // the socket for reports
	SlotExec   = 4 // what is executed
	FirstFile  = 7 // Plan.Files
)

// Door is the descriptor that a program gets beside its three, where it gets one.
const Door = 3

// ReportStarted is the kind of the report that all is done.
const ReportStarted = 1

// ReportListener is the kind of the report, 16 bytes that begin with it, that
// brings the descriptor on which denied system calls are heard.
const ReportListener = 5

// ReportSocket is the kind of the report, likewise, that brings the listening
// socket of the run's way out.
const ReportSocket = 6

// A Wish is what one run is to be held to. Its paths are absolute and real.
type Wish struct {
	Level paddock.Level
	// Root is the workspace and Dir the directory to start in, below it.
	Root, Dir string
	// ReadOnly keeps the program from writing in Root; not at level off.
	ReadOnly bool
	// Home is the private home directory, writable too; empty is none.
	Home string
	// Programs are files that must be visible to be executed, beside what the
	// system's directories hold.
	Programs []string
	// Listed is what the tree may execute; nil is anything.
	Listed []listed.Entry
	// Read and Write are further paths, read-only and writable.
	Read, Write []string
	// Real has a run not start where a link has come to be on the way to one of Read.
	Real bool
	// Overlay is a directory with the directories upper and work: what the run
	// writes to the root lands in upper. Stand is shown in the root's place. At
	// most one of them is set.
	Overlay, Stand string
	// Network is none, allowlist or host.
	Network string
	// OpenFiles is the most descriptors of a process; zero leaves the limit.
	OpenFiles int
	// Join are files to each of which the program writes that it joins, Rlimits
	// what is set of it then: together they hold its tree to its limits.
	Join    []*os.File
	Rlimits []resource.Rlimit
	// Tmp bounds the private /tmp and /dev/shm, in bytes each; zero means 1 GiB.
	Tmp int64
	// CA holds certificates, in PEM, to trust beside the machine's.
	CA []byte
	// Protect lists what in the workspace stays as it is.
	Protect []protect.Path
	// Held is set when a lease keeps what is executed from being written: it must
	// be whole when the program is about to be one.
	Held bool
	// Copies are shown in the place of what lies at their paths, at level full.
	Copies []Copy
	// Exec and Start identify what was judged; the program must find the same.
	Exec, Start Identity
	// Account is whose the run's processes are for the kernel; nil is our own.
	Account *paddock.Account
	// Shown are mounts, by their path, that take the place of what is there: of
	// other owners, so that it is the run's own. Only at level full.
	Shown map[string]*os.File
	// Hedge is a Landlock ruleset that was made ahead, for the run if it serves; nil is none.
	Hedge *Hedge
	// Door is a socket that the program gets as descriptor Door; nil is none.
	Door *os.File
	// Terminal is of which size a terminal the program gets as its descriptors 0, 1 and
	// 2, in the place of those that it is started with; nil is none.
	Terminal *paddock.TerminalSize
	// Lower and Layer are, where the root is to be another owner's, mounts that
	// show it and the directory of Overlay so.
	Lower, Layer *os.File
}

// An Identity tells a file from any other that exists at the time.
type Identity struct {
	Major, Minor uint32
	Inode        uint64
}

// IdentityOf returns the identity of an open file.
func IdentityOf(f *os.File) (Identity, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO, &st); err != nil {
		return Identity{}, &os.PathError{Op: "statx", Path: f.Name(), Err: err}
	}
	return Identity{st.Dev_major, st.Dev_minor, st.Ino}, nil
}

// A Plan is what the process in between and the program do before the program
// is one. It is made for one start.
type Plan struct {
	// Namespaces are clone flags beside those that hold the tree.
	Namespaces uintptr
	// UserNamespace is set when a user namespace is wanted in any case; UIDMap
	// and GIDMap are its maps, empty for one's own id mapped to itself.
	UserNamespace  bool
	UIDMap, GIDMap string
	// Account is whose the user namespace is, where that isn't us.
	Account *paddock.Account
	// Beneath is set where there is none, and root's run is another account's for ever: with
	// all that it starts it can't reach the process in between, which is root's.
	Beneath bool
	// Ground is what the calls of Setup build upon, and is to be built before them; nil
	// where Setup does all.
	Ground *Ground
	// Setup is for the process in between, before it forks the program.
	Setup []Call
	// Become is for the program; what follows is its execution from Exec.
	Become []Call
	// Exec is where the descriptor that is executed will be; nil means SlotExec.
	Exec []byte
	// Files are handed over from descriptor FirstFile on.
	Files []*os.File
	// Enforced is what the record says.
	Enforced paddock.Enforced
}

// The words of package machine that callers need.
type (
	// A Host is what this machine can do and what it has.
	Host = machine.Host
	// An Entry is a file or a directory of the host.
	Entry = machine.Entry
)

// ErrUnavailable marks what this machine can't give.
var ErrUnavailable = machine.ErrUnavailable

// Probe looks at the machine; see [machine.Probe].
func Probe(paths ...string) Host { return machine.Probe(paths...) }

// NewPlan plans how w is granted on host, or says what can't be.
func NewPlan(w Wish, host Host) (*Plan, error) {
	p := &Plan{Enforced: paddock.Enforced{Level: w.Level}}
	if can := host.Can(w.Level); can != nil {
		return nil, can
	}
	if w.Level == paddock.Full && w.Root == "/" {
		return nil, fmt.Errorf("the root / can't be shown without the rest of the machine; use a narrower root, or level standard: %w", ErrUnavailable)
	}
	if w.Network == "allowlist" && w.Level != paddock.Full {
		return nil, fmt.Errorf("network allowlist needs level full, which alone gives a run a network of its own: %w", ErrUnavailable)
	}
	if err := w.copyable(); err != nil {
		return nil, err
	}
	if err := w.listable(host); err != nil {
		return nil, err
	}
	p.reserve(w)
	p.join(w)
	p.process(w, host)
	var err error
	switch w.Level {
	case paddock.Off:
		p.account(w)
		p.enter(w)
		p.held(w)
	case paddock.Standard:
		p.boundingSet()
		p.account(w)
		p.enter(w)
		p.unprivileged(w)
		p.landlock(w, host, standardRules(w, host))
		p.held(w)
		p.Beneath = host.EUID == 0 && w.Account != nil && w.Account.UID != 0
		err = p.filter(filter.Options{Network: w.Network, TCPOnly: w.Network != "host", Listed: w.Listed != nil, Notify: true})
	case paddock.Full:
		p.namespaces(w, host)
		if err = p.tree(w, host); err != nil {
			return nil, err
		}
		p.arrive(w)
		p.boundingSet()
		p.unprivileged(w)
		p.landlock(w, host, fullRules(w))
		p.held(w)
		err = p.filter(filter.Options{Network: w.Network, UnixSockets: true, Listed: w.Listed != nil, Notify: true})
	default:
		return nil, fmt.Errorf("level %q: %w", w.Level, ErrUnavailable)
	}
	if err != nil {
		return nil, err
	}
	if w.Door != nil { // last, since reports go by the same number until then
		p.become("door", unix.SYS_DUP3, Number(FirstFile+len(p.Files)), Number(Door), Number(0))
		p.Files = append(p.Files, w.Door)
	}
	p.Enforced.Network = w.Network
	p.identity(w, host)
	return p, nil
}

// reserve makes room for about as many calls as there will be. A list that grows
// is copied several times, each time into memory that nothing has touched yet,
// and of that a start is made slow.
func (p *Plan) reserve(w Wish) {
	switch w.Level {
	case paddock.Full:
		p.Setup = make([]Call, 0, 256+4*(len(w.Protect)+len(w.Read)+len(w.Write)))
		p.Become = make([]Call, 0, 112)
	case paddock.Standard:
		p.Become = make([]Call, 0, 224+3*(len(w.Read)+len(w.Write)))
	}
}

// filter is the last thing before the program: from here on system calls that a
// build or a test never needs are refused.
func (p *Plan) filter(o filter.Options) error {
	f, err := filter.Build(o)
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(f.Program))}
	instructions := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f.Program))), len(f.Program)*unix.SizeofSockFilter)
	out := newMessage(ReportListener)
	p.Become = append(p.Become, Call{
		Step: "system call filter", Nr: unix.SYS_SECCOMP, Into: out.descriptor,
		Args: [6]Arg{Number(unix.SECCOMP_SET_MODE_FILTER), Number(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), Memory(bytesOf(&program), Pointer{At: unsafe.Offsetof(program.Filter), To: instructions})},
	})
	p.Become = append(p.Become, out.send("listener of denied calls")...)
	p.Enforced.Filter = f.Digest
	return nil
}

// join is the first that the program does: nothing it does may go uncounted.
func (p *Plan) join(w Wish) {
	for i, file := range w.Join {
		p.Files = append(p.Files, file)
		p.become("cgroup", unix.SYS_WRITE, Number(FirstFile+i), Memory([]byte("0")), Number(1))
	}
	for _, l := range w.Rlimits {
		p.become("limit "+l.Name, unix.SYS_PRLIMIT64, Number(0), Number(l.Resource), Memory(bytesOf(&unix.Rlimit{Cur: l.Soft, Max: l.Hard})), Number(0))
	}
}

// process sets what every level sets.
func (p *Plan) process(w Wish, host Host) {
	p.become("umask", unix.SYS_UMASK, Number(0o022))
	if w.OpenFiles > 0 {
		n := uint64(w.OpenFiles)
		p.become("open files limit", unix.SYS_PRLIMIT64, Number(0), Number(unix.RLIMIT_NOFILE), Memory(bytesOf(&unix.Rlimit{Cur: n, Max: n})), Number(0))
	}
	if w.Level != paddock.Full { // there is its own /dev first
		p.terminal(w)
	}
	if w.Level != paddock.Off {
		// One byte, not none: where cores go to a program of the host, only this
		// number keeps the kernel from starting it (core(5)).
		cores := uint64(1)
		if host.Coreless {
			cores = 0
		}
		p.become("core dump limit", unix.SYS_PRLIMIT64, Number(0), Number(unix.RLIMIT_CORE), Memory(bytesOf(&unix.Rlimit{Cur: cores, Max: cores})), Number(0))
	}
}

// inside is who root's programs are in their user namespace: nobody special.
const inside = 1000

func (p *Plan) namespaces(w Wish, host Host) {
	p.UserNamespace = true
	p.Namespaces = unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	p.Enforced.Namespaces = []string{"user", "mount", "pid", "ipc", "uts", "cgroup"}
	if w.Account != nil {
		p.Account = w.Account
		p.UIDMap, p.GIDMap = mapsOf(*w.Account)
	}
	if w.Network != "host" {
		p.Namespaces |= unix.CLONE_NEWNET
		p.Enforced.Namespaces = append(p.Enforced.Namespaces, "network")
	}
	p.masked()
	if p.Ground = groundOf(w, host); p.Ground == nil {
		p.named(w)
	}
	if w.Network == "allowlist" {
		p.wayOut()
	}
}

// enter puts the program into the directory that was judged, by its path: in a
// mount namespace of its own the open directory belongs to the host's mounts,
// out of which it couldn't find its own path. What the path leads to is
// compared with what was judged: if it is another by now, the start ends.
func (p *Plan) enter(w Wish) {
	step := "working directory"
	if w.Account != nil && w.Level != paddock.Full {
		step = fmt.Sprintf("enter the directory as %s", w.Account)
	}
	p.become(step, unix.SYS_CHDIR, Text(w.Dir))
	if w.Overlay == "" { // else it was compared before it was covered
		p.same(step, Number(at), Text("."), w.Start)
	}
}

// arrive enters the directory and opens what is executed, both in the new tree:
// no descriptor of the host's mounts gets into the run.
func (p *Plan) arrive(w Wish) {
	p.enter(w)
	p.Exec = newCell()
	flags := unix.O_PATH | unix.O_CLOEXEC
	p.Become = append(p.Become, Call{
		Step: "executable", Nr: unix.SYS_OPENAT, Into: p.Exec,
		Args: [6]Arg{Number(at), Text(w.Programs[0]), Number(flags), Number(0)},
	})
	compared := sameFile("executable", Result(p.Exec), Text(""), w.Exec)
	if w.covered(w.Programs[0]) {
		compared = compared[:1] // of what lies below an overlay only the inode stays
	}
	p.Become = append(p.Become, compared...)
}

const at = unix.AT_FDCWD

func (p *Plan) same(step string, dir, path Arg, want Identity) {
	p.Become = append(p.Become, sameFile(step, dir, path, want)...)
}

// sameFile compares the inode first and the device then.
func sameFile(step string, dir, path Arg, want Identity) []Call {
	var st unix.Statx_t
	got := bytesOf(&st)
	inode, device := make([]byte, 8), make([]byte, 8)
	binary.NativeEndian.PutUint64(inode, want.Inode)
	binary.NativeEndian.PutUint32(device, want.Major)
	binary.NativeEndian.PutUint32(device[4:], want.Minor)
	call := Call{
		Step: step, Nr: unix.SYS_STATX, Got: got[unsafe.Offsetof(st.Ino):][:8], Want: inode,
		Args: [6]Arg{dir, path, Number(unix.AT_EMPTY_PATH), Number(unix.STATX_INO), Memory(got)},
	}
	other := call
	other.Got, other.Want = got[unsafe.Offsetof(st.Dev_major):][:8], device
	return []Call{call, other}
}

// unprivileged gives up what a user namespace or root's own identity brought,
// for ever.
func (p *Plan) unprivileged(Wish) {
	p.Become = append(p.Become, Call{
		Step: "ambient capabilities", Nr: unix.SYS_PRCTL, Accept: []syscall.Errno{unix.EINVAL},
		Args: [6]Arg{Number(unix.PR_CAP_AMBIENT), Number(unix.PR_CAP_AMBIENT_CLEAR_ALL)},
	})
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	p.become("capabilities", unix.SYS_CAPSET, Memory(bytesOf(&header)), Memory(make([]byte, 24)))
	p.become("no new privileges", unix.SYS_PRCTL, Number(unix.PR_SET_NO_NEW_PRIVS), Number(1), Number(0), Number(0), Number(0))
	p.Enforced.NoNewPrivileges = true
}

// boundingSet gives up every capability that a later execution could bring. Where there
// is a ground that is done there.
func (p *Plan) boundingSet() {
	if p.Ground == nil {
		p.Become = append(p.Become, boundingSet()...)
	}
}

func boundingSet() []Call {
	calls := make([]Call, host64)
	for bit := range calls {
		calls[bit] = Call{
			Step: "bounding set", Nr: unix.SYS_PRCTL, Accept: []syscall.Errno{unix.EINVAL, unix.EPERM},
			Args: [6]Arg{Number(unix.PR_CAPBSET_DROP), Number(bit)},
		}
	}
	return calls
}

// host64 is how many capabilities a kernel could know.
const host64 = 41

func (p *Plan) setup(step string, nr uintptr, args ...Arg) {
	p.Setup = append(p.Setup, prepared(step, nr, args))
}

func (p *Plan) become(step string, nr uintptr, args ...Arg) {
	p.Become = append(p.Become, prepared(step, nr, args))
}

func prepared(step string, nr uintptr, args []Arg) Call {
	c := Call{Step: step, Nr: nr}
	copy(c.Args[:], args)
	return c
}

// Private is what the process in between does at every level when it has a
// mount namespace of its own: nothing it mounts is seen outside, and /proc shows
// the processes of the run, where the kernel allows that.
func Private() []Call {
	every := []syscall.Errno{unix.EPERM, unix.EACCES, unix.EBUSY, unix.ENODEV, unix.ENOENT, unix.EINVAL}
	return []Call{
		private(),
		{Step: "/proc", Nr: unix.SYS_MOUNT, Accept: every,
			Args: [6]Arg{Text("proc"), Text("/proc"), Text("proc"), Number(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)}},
	}
}

func private() Call {
	return prepared("mount namespace", unix.SYS_MOUNT, []Arg{Number(0), Text("/"), Number(0), Number(unix.MS_REC | unix.MS_PRIVATE)})
}

// below reports whether path is dir or lies below it.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// outer returns paths without those that lie below others.
func outer(paths []string) []string {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, func(a, b string) int { return len(a) - len(b) })
	var kept []string
	for _, path := range paths {
		path = filepath.Clean(path)
		if !slices.ContainsFunc(kept, func(k string) bool { return below(k, path) }) {
			kept = append(kept, path)
		}
	}
	return kept
}
