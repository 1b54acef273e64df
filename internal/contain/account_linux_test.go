package contain

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
)

// able is a machine that can do all of it.
func able(euid int) Host {
	return Host{EUID: euid, EGID: euid, LandlockABI: 7, Links: map[string]string{}, Directories: []string{"/usr"}}
}

func wishOf(level paddock.Level, account *paddock.Account) Wish {
	return Wish{Level: level, Root: "/srv/root", Dir: "/srv/root", Programs: []string{"/usr/bin/true"}, Network: "host", Account: account}
}

// place is where the first call of this number is; behind all if there is none.
func place(calls []Call, nr uintptr) int {
	if i := slices.IndexFunc(calls, func(c Call) bool { return c.Nr == nr }); i >= 0 {
		return i
	}
	return len(calls)
}

// An identity is given up before anything of the program's own is looked at, and
// while it can still be: groups before group before user, all before capabilities.
func TestAccountBelowFull(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Standard, paddock.Off} {
		p, err := NewPlan(wishOf(level, &paddock.Account{UID: 7, GID: 8, Name: "x"}), able(0))
		if err != nil {
			t.Fatal(err)
		}
		order := []uintptr{unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID, unix.SYS_CHDIR}
		if level == paddock.Standard {
			order = append(order, unix.SYS_CAPSET, unix.SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_SECCOMP)
		}
		var at []int
		for _, nr := range order {
			at = append(at, place(p.Become, nr))
		}
		if !slices.IsSorted(at) || at[len(at)-1] == len(p.Become) || p.UserNamespace || p.Account != nil {
			t.Errorf("%s: the order is %v of %d", level, at, len(p.Become))
		}
		if step := p.Become[at[3]].Step; step != "enter the directory as x, uid 7, gid 8" {
			t.Errorf("%s: %q", level, step)
		}
		for i, want := range []uintptr{8, 7} {
			for _, arg := range p.Become[at[1+i]].Args[:3] {
				if got, cell, _, _ := arg.Parts(); got != want || cell != nil {
					t.Errorf("%s: %s sets %d, want %d", level, p.Become[at[1+i]].Step, got, want)
				}
			}
		}
		if death := place(p.Become[at[2]:], unix.SYS_PRCTL); death != 1 {
			t.Errorf("%s: the program outlives a guardian", level)
		}
	}
}

// At full all of the host is taken before the identity goes, and nothing is made
// before that.
func TestAccountAtFull(t *testing.T) {
	t.Parallel()
	p, err := NewPlan(wishOf(paddock.Full, &paddock.Account{UID: 7, GID: 8}), able(0))
	if err != nil {
		t.Fatal(err)
	}
	identity := place(p.Setup, unix.SYS_SETRESUID)
	made := slices.IndexFunc(p.Setup, func(c Call) bool { return strings.HasPrefix(c.Step, "mount tmpfs") })
	taken := 0
	for i, c := range p.Setup {
		if c.Nr == unix.SYS_OPEN_TREE && !strings.HasPrefix(c.Step, "protect") {
			taken = i
		}
	}
	if taken == 0 || identity < taken || made < identity || p.UIDMap != "1000 7 1\n" || p.GIDMap != "1000 8 1\n" || p.Account.UID != 7 {
		t.Errorf("taken at %d, identity at %d, made at %d; maps %q, %q", taken, identity, made, p.UIDMap, p.GIDMap)
	}
	if place(p.Become, unix.SYS_SETRESUID) < len(p.Become) {
		t.Error("the program changes its identity once more")
	}
	own, err := NewPlan(wishOf(paddock.Full, nil), able(1000))
	if err != nil {
		t.Fatal(err)
	}
	if place(own.Setup, unix.SYS_SETRESUID) < len(own.Setup) || own.Account != nil || own.UIDMap != "" {
		t.Error("an ordinary user's run becomes somebody else's")
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	other, root := &paddock.Account{UID: 7, GID: 8}, &paddock.Account{}
	for _, tt := range []struct {
		level   paddock.Level
		account *paddock.Account
		euid    int
		uid     uint32
		want    paddock.Safekeeping
	}{
		{paddock.Full, other, 0, 7, paddock.EvidenceProtected},
		{paddock.Full, nil, 1000, 1000, paddock.EvidenceProtected},
		{paddock.Standard, other, 0, 7, paddock.EvidenceProtected},
		{paddock.Standard, nil, 1000, 1000, paddock.EvidenceSameUID},
		{paddock.Off, other, 0, 7, paddock.EvidenceProtected},
		{paddock.Off, nil, 0, 0, paddock.EvidenceSameUID},
		{paddock.Off, nil, 1000, 1000, paddock.EvidenceSameUID},
		{paddock.Off, root, 1000, 0, paddock.EvidenceSameUID}, // root owns whatever it likes
	} {
		p, err := NewPlan(wishOf(tt.level, tt.account), able(tt.euid))
		if err != nil {
			t.Fatal(err)
		}
		if e := p.Enforced; e.Evidence != tt.want || e.Identity == nil || e.Identity.UID != tt.uid {
			t.Errorf("%s, %v by %d: %s, %v", tt.level, tt.account, tt.euid, e.Evidence, e.Identity)
		}
	}
}
