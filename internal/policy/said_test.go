package policy_test

import (
	"bytes"
	"errors"
	"testing"

	"paddock/internal/policy"
	"paddock/internal/policy/compiled/layered"
)

// What a policy says beside its verdicts.
func TestWhatAPolicySays(t *testing.T) {
	t.Parallel()
	const head = "version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /bin/true, args: any}]\n"
	p := load(t, head+"limits: {output: 5MiB, reserve: 3GiB}\n")
	if got := p.Limits().Output; got != 5<<20 {
		t.Errorf("Limits().Output = %d", got)
	}
	if got := p.SearchPath(); got == "" {
		t.Error("programs get no PATH")
	}
	if got := p.Reserve(1 << 50); got != 3<<30 {
		t.Errorf("Reserve = %d, want what is said", got)
	}
	plain := load(t, head)
	if got := plain.Approvals().Keys; len(got) != 0 {
		t.Errorf("%v may approve though nobody is named", got)
	}
	asking := head + "git: {executable: /bin/git}\napprovals: {keys: [{name: a, key: \"ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}]}\n"
	if p := load(t, asking); len(p.Approvals().Keys) != 1 || len(p.For("git").Approvals().Keys) != 0 {
		t.Errorf("%v, and for git %v", p.Approvals(), p.For("git").Approvals())
	}
	for size, want := range map[int64]int64{1 << 50: 1 << 30, 1 << 30: (1 << 30) / 20} {
		if got := plain.Reserve(size); got != want {
			t.Errorf("Reserve(%d) = %d, want %d", size, got, want)
		}
	}
}

// A digest is of all texts, in their order, with their names.
func TestBundleIsOfAllTexts(t *testing.T) {
	t.Parallel()
	one, other := policy.Source{Name: "/a", Data: []byte("x")}, policy.Source{Name: "/b", Data: []byte("x")}
	alone := layered.Bundle("/p", []byte("text"))
	if !bytes.Equal(alone, []byte("text")) {
		t.Errorf("a text alone is %q", alone)
	}
	if bytes.Equal(layered.Bundle("/p", []byte("text"), one), layered.Bundle("/p", []byte("text"), other)) {
		t.Error("two files of different names are the same")
	}
}

func TestCheckFloor(t *testing.T) {
	t.Parallel()
	if err := policy.CheckFloor("/f", []byte("version: 1\nlimits: {timeout: 1m}\n")); err != nil {
		t.Error(err)
	}
	var errs *policy.Errors
	if err := policy.CheckFloor("/f", []byte("version: 1\nsecrets: {}\n")); !errors.As(err, &errs) || len(errs.List) != 1 || errs.List[0].Position.Line != 2 {
		t.Errorf("%v", err)
	}
}
