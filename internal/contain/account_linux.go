package contain

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"paddock"
)

// settle makes the process in between the run's own, once it has taken hold of
// what only we may reach. What it makes from here on belongs to the run.
func (p *Plan) settle(w Wish) {
	if w.Account == nil {
		return
	}
	p.Setup = append(p.Setup, ids("identity", inside, inside)...)
	// The kernel forgets both when identities change.
	p.setup("identity", unix.SYS_PRCTL, Number(unix.PR_SET_DUMPABLE), Number(0))
	p.setup("identity", unix.SYS_PRCTL, Number(unix.PR_SET_PDEATHSIG), Number(int(unix.SIGKILL)))
}

// account makes the program another account's, where there is no user namespace
// to do it in: nothing that it does from here on is root's.
func (p *Plan) account(w Wish) {
	if w.Account == nil {
		return
	}
	step := fmt.Sprintf("become %s", w.Account)
	p.become(step, unix.SYS_SETGROUPS, Number(0), Number(0))
	p.Become = append(p.Become, ids(step, w.Account.UID, w.Account.GID)...)
	// A guardian that is ended takes the program along, also as somebody else.
	p.become(step, unix.SYS_PRCTL, Number(unix.PR_SET_PDEATHSIG), Number(int(unix.SIGKILL)))
}

func ids(step string, uid, gid uint32) []Call {
	u, g := Number(uid), Number(gid)
	return []Call{prepared(step, unix.SYS_SETRESGID, []Arg{g, g, g}), prepared(step, unix.SYS_SETRESUID, []Arg{u, u, u})}
}

// identity says whose the run is, and whether its record is out of its reach:
// the state directory is ours, and so is the policy, or root's.
func (p *Plan) identity(w Wish, host Host) {
	own := paddock.Account{UID: uint32(host.EUID), GID: uint32(host.EGID)}
	p.Enforced.Identity, p.Enforced.Evidence = &own, paddock.EvidenceSameUID
	if w.Account != nil {
		p.Enforced.Identity = w.Account
	}
	if w.Level == paddock.Full || p.Enforced.Identity.UID != own.UID && p.Enforced.Identity.UID != 0 {
		p.Enforced.Evidence = paddock.EvidenceProtected
	}
}

// NamespacePlan is for a process that makes a user namespace, hands it out and
// waits until its maps are written, which ends when nobody listens any more.
func NamespacePlan() *Plan {
	const step = "user namespace"
	out, started := newMessage(ReportSocket), make([]byte, 16)
	binary.NativeEndian.PutUint32(started, ReportStarted)
	p := &Plan{}
	p.setup(step, unix.SYS_UNSHARE, Number(unix.CLONE_NEWUSER))
	p.Setup = append(p.Setup, Call{
		Step: step, Nr: unix.SYS_OPENAT, Into: out.descriptor,
		Args: [6]Arg{Number(at), Text("/proc/self/ns/user"), Number(unix.O_RDONLY | unix.O_CLOEXEC)},
	})
	p.Setup = append(p.Setup, out.send(step)...)
	p.setup(step, unix.SYS_WRITE, Number(SlotReport), Memory(started), Number(len(started)))
	p.setup(step, unix.SYS_READ, Number(SlotReport), Memory(make([]byte, 16)), Number(16))
	p.setup(step, unix.SYS_EXIT_GROUP, Number(0))
	return p
}
