package contain

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"paddock"
)

// A Ground is what runs of root have in common before anything is known of one: a tree
// with what every run sees of the host, /tmp, /dev, /proc and /etc of its own, and no way
// back to the host's. It is built before the run is there, or as the first of its
// start; what the run alone sees is given to it as mounts.
//
// Nobody has run anything in it, and it serves one run.
type Ground struct {
	// Account is whose it is.
	Account paddock.Account

	host Host
}

// NewGround returns the ground for a run of account on host.
func NewGround(host Host, account paddock.Account) *Ground { return &Ground{account, host} }

// groundOf returns the ground that w builds upon, nil where its tree can't be
// taken apart in this way: with anything of the host's that isn't given as a mount, and
// with what has to be there before the rest is.
func groundOf(w Wish, host Host) *Ground {
	if w.Account == nil || w.Network == "host" || w.Tmp != 0 || len(w.Copies) > 0 || w.Overlay != "" || w.Lower != nil {
		return nil
	}
	given := func(b bind) bool { return w.Shown[b.path] != nil }
	if rest := own(w, host); len(rest) == 0 || !all(rest, given) {
		return nil
	}
	return NewGround(host, *w.Account)
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !is(v) })
}

// Same reports whether what was built for g is what would be built for other: as the same
// account, and from the very files and directories.
func (g *Ground) Same(other *Ground) bool {
	return g != nil && other != nil && g.Account == other.Account && g.host.EUID == other.host.EUID && g.host.EGID == other.host.EGID &&
		slices.Equal(g.host.Directories, other.host.Directories) && slices.Equal(g.host.Etc, other.host.Etc) &&
		maps.Equal(g.host.Links, other.host.Links) && slices.Equal(g.host.Sources, other.host.Sources)
}

// Maps are those of the user namespace it is built in.
func (g *Ground) Maps() (uid, gid string) { return mapsOf(g.Account) }

// Calls build it.
func (g *Ground) Calls() []Call {
	w, p := Wish{Level: paddock.Full, Network: "none", Account: &g.Account}, &Plan{Setup: make([]Call, 0, 256)}
	p.masked()
	p.named(w)
	p.Setup = append(p.Setup, private())
	binds, made := common(w, g.host), map[string]bool{}
	for i := range binds {
		p.take(&binds[i], nil)
	}
	p.settle(w)
	p.begin(w, made)
	p.furnish(w, g.host, made)
	for _, b := range binds {
		p.put(b, made)
	}
	p.proc()
	p.pivot()
	// What the process in between has given up, the program can't get.
	return append(p.Setup, boundingSet()...)
}

// masked has what is made from here on have the rights that it is made with, whatever the umask is of who asked: the
// run is to reach it.
func (p *Plan) masked() { p.setup("umask", unix.SYS_UMASK, Number(0o022)) }

// named gives it the name that every run has, and its network a loopback.
func (p *Plan) named(w Wish) {
	p.setup("host name", unix.SYS_SETHOSTNAME, Text("paddock"), Number(len("paddock")))
	if w.Network != "host" {
		p.loopback()
	}
}

// mapsOf are the maps of a user namespace in which account is nobody special.
func mapsOf(a paddock.Account) (uid, gid string) {
	return fmt.Sprintf("%d %d 1\n", inside, a.UID), fmt.Sprintf("%d %d 1\n", inside, a.GID)
}

// loopback brings up the interface that a new network namespace has down.
func (p *Plan) loopback() {
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	binary.NativeEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	socket := newCell()
	p.Setup = append(p.Setup, Call{
		Step: "loopback", Nr: unix.SYS_SOCKET, Into: socket,
		Args: [6]Arg{Number(unix.AF_INET), Number(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC), Number(0)},
	})
	p.setup("loopback", unix.SYS_IOCTL, Result(socket), Number(unix.SIOCSIFFLAGS), Memory(request))
	p.setup("loopback", unix.SYS_CLOSE, Result(socket))
}
