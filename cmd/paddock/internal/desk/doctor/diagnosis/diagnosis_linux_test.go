package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle/resource"
)

// What can be better has a remedy, and what is well has none.
func TestLandlock(t *testing.T) {
	t.Parallel()
	for abi, want := range map[int]string{0: "landlock", 5: "ABI 6", 6: "", 7: ""} {
		f := landlock(contain.Host{LandlockABI: abi})
		if want == "" && f.Remedy != "" || want != "" && !strings.Contains(strings.ToLower(f.Remedy), strings.ToLower(want)) {
			t.Errorf("ABI %d: %+v", abi, f)
		}
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	if f := namespaces(contain.Host{}); f.Remedy != "" {
		t.Errorf("they are given: %+v", f)
	}
	f := namespaces(contain.Host{UserNamespaces: "AppArmor takes them away"})
	if f.Remedy == "" || !strings.Contains(f.Text, "AppArmor") {
		t.Errorf("they are not given: %+v", f)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, f := range limits(resource.Host{}) {
		if !strings.HasPrefix(f.Text, "can't be held") || !strings.Contains(f.Remedy, "delegated") {
			t.Errorf("without a cgroup: %+v", f)
		}
	}
	all := resource.Host{V2: resource.Tree{Mount: "/sys/fs/cgroup", Folder: "/sys/fs/cgroup/paddock", Controllers: []string{"memory", "pids", "cpu"}}}
	for _, f := range limits(all) {
		if f.Text != "can be held, by cgroup-v2" || f.Remedy != "" {
			t.Errorf("with a cgroup: %+v", f)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	if f := records(""); f.Remedy == "" {
		t.Errorf("no place: %+v", f)
	}
	if f := records("/nowhere/paddock"); !strings.Contains(f.Text, "to be made") || f.Remedy != "" {
		t.Errorf("a place to be made: %+v", f)
	}
	if f := records("/tmp/paddock/state"); !strings.Contains(f.Remedy, "--state") {
		t.Errorf("a shared place: %+v", f)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range Facts("/var/lib/paddock") {
		if f.Name == "" || f.Text == "" {
			t.Errorf("%+v", f)
		}
		names = append(names, f.Name)
	}
	for _, want := range []string{"account", "kernel", "landlock", "user namespaces", "seccomp", "limit memory", "temp dir", "supervisor", "state directory"} {
		if !slices.Contains(names, want) {
			t.Errorf("it says nothing of %s: %q", want, names)
		}
	}
}
