//go:build linux

package supervise

import (
	"os"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/testproc"
)

// allowlisted makes the run one whose network is an allowlist.
func (f *fixture) allowlisted(self string, reach ...string) {
	f.t.Helper()
	if !slices.Contains(contain.Probe().Levels(), paddock.Full) {
		testproc.Skip(f.t, "this machine can't give level full")
	}
	f.self = self
	f.job.Contain = paddock.ContainAs{Level: paddock.Full, Network: "allowlist", Reach: reach}
}

// Nothing runs that would find no proxy where it was promised one.
func TestWithoutItsProxyARunDoesntStart(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]string{"no binary": "example.org:443", "no rule": "*:443"} {
		self := "/nowhere"
		if name == "no rule" {
			self = testproc.Build(t, "paddock/cmd/paddock-stage")
		}
		f := newFixture(t, "echo ran")
		f.allowlisted(self, reach)
		got := f.run()
		if got.State != paddock.FailedToStart || got.Reason.Step != "way out" || f.stdout() != "" {
			t.Errorf("%s: %+v, %q", name, got, f.stdout())
		}
	}
}

// A program that can't be started leaves no proxy, and no entry.
func TestAProxyWithoutARun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.allowlisted(testproc.Build(t, "paddock/cmd/paddock-stage"))
	f.job.Dir = "/nowhere"
	if got := f.run(); got.State != paddock.FailedToStart || got.Reason.Step == "way out" || got.Denied != nil {
		t.Errorf("%+v", got)
	}
}

// What passes the proxy by has no route, and the outcome says what does.
func TestPastTheProxy(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/bash"); err != nil {
		testproc.Skip(t, err.Error())
	}
	f := newFixture(t, `exec bash -c 'exec 3<>/dev/udp/192.0.2.1/53'`)
	f.allowlisted(testproc.Build(t, "paddock/cmd/paddock-stage"), "example.org:443")
	got := f.run()
	if len(got.Denied) != 1 || got.Denied[0].Call != "network" || !strings.Contains(got.Denied[0].Text, "past its proxy") {
		t.Errorf("%+v", got)
	}
}
