package policy_test

import (
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// Defaults hold where they can be and refuse nothing; what is said must hold.
func TestLimitsOfTheTree(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	contained := strings.Replace(minimal, "require: off", "require: full", 1)
	own := strings.Replace(contained, "    args:", "    limits: {memory: 1GiB}\n    args:", 1)
	all := []string{"memory", "processes", "cpus", "disk"}
	defaults := paddock.Limits{Memory: 2 * gib, Processes: 256, Disk: 10 * gib, MemoryByDefault: true, ProcessesByDefault: true, DiskByDefault: true}
	tests := []struct {
		name, policy string
		held         []string
		want         paddock.Limits
		missing      []string // one refusal each
	}{
		{"defaults", contained, all, defaults, nil},
		{"defaults that can't be held", contained, nil, paddock.Limits{}, nil},
		{"one of them", contained, []string{"processes"}, paddock.Limits{Processes: 256, ProcessesByDefault: true}, nil},
		{"nothing is contained", minimal, all, paddock.Limits{}, nil},
		{"nothing but what is said", minimal + "limits: {processes: 7}\n", all, paddock.Limits{Processes: 7}, nil},
		{"said at standard", strings.Replace(minimal, "off", "standard", 1) + "limits: {memory: 3GiB, processes: 9, cpus: 0.5}\n", all,
			paddock.Limits{Memory: 3 * gib, Processes: 9, CPUs: 0.5, Disk: 10 * gib, DiskByDefault: true}, nil},
		{"said and not to be held", minimal + "limits: {memory: 3GiB, processes: 9, cpus: 0.5}\n", []string{"processes"}, paddock.Limits{},
			[]string{"limits memory to 3221225472 bytes", "limits cpus to 0.5"}},
		{"of the program", own + "limits: {processes: 3}\n", all, paddock.Limits{Memory: gib, Processes: 3, Disk: 10 * gib, DiskByDefault: true}, nil},
		{"of the program, not to be held", own, []string{"processes"}, paddock.Limits{}, []string{"limits memory to 1073741824 bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, req := load(t, test.policy), ask("go", "vet", "./...")
			facts := friendly(p, req)
			facts.Levels, facts.Held, facts.Unheld = []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, test.held, "no cgroup here"
			d := policy.Decide(p, req, facts)
			if len(d.Refusals) != len(test.missing) {
				t.Fatalf("refusals %+v, want %q", d.Refusals, test.missing)
			}
			for i, want := range test.missing {
				r := d.Refusals[i]
				if r.Code != paddock.ContainmentUnavailable || r.Gate != paddock.GateContainment || r.Position == nil ||
					!strings.Contains(r.Message, want+", which can't be enforced here: no cgroup here.") || !strings.Contains(r.Hint, "leaves `limits.") {
					t.Errorf("%+v doesn't say %q", r, want)
				}
			}
			if test.missing != nil {
				return
			}
			got := d.Grant().Limits
			got.Timeout, got.Output, got.OpenFiles = 0, 0, 0
			if got != test.want {
				t.Errorf("granted %+v, want %+v", got, test.want)
			}
		})
	}
}

// What a run may write to disks is limited, lower where the caller wants, and
// refused where nothing counts it.
func TestDiskIsLimited(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		text   string
		asked  int64
		held   []string
		want   paddock.Limits
		refuse bool
	}{
		"said":                     {minimal + "limits: {disk: 2GiB, file_size: 1GiB}\n", 0, []string{"disk"}, paddock.Limits{Disk: 2 * gib, FileSize: gib}, false},
		"asked for less":           {minimal + "limits: {disk: 2GiB}\n", gib, []string{"disk"}, paddock.Limits{Disk: gib}, false},
		"asked where all is free":  {minimal, gib, []string{"disk"}, paddock.Limits{Disk: gib}, false},
		"said and not counted":     {minimal + "limits: {disk: 2GiB}\n", 0, nil, paddock.Limits{}, true},
		"asked for, not counted":   {strings.Replace(minimal, "off", "standard", 1), gib, nil, paddock.Limits{}, true},
		"by default, not counted":  {strings.Replace(minimal, "off", "standard", 1), 0, []string{"memory", "processes"}, paddock.Limits{Memory: 2 * gib, MemoryByDefault: true, Processes: 256, ProcessesByDefault: true}, false},
		"by default at this level": {minimal, 0, []string{"disk"}, paddock.Limits{}, false},
	} {
		p, req := load(t, c.text), ask("go", "vet", "./...")
		req.Command.DiskLimit = c.asked
		facts := friendly(p, req)
		facts.Levels, facts.Held = []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, c.held
		d := policy.Decide(p, req, facts)
		if c.refuse {
			if r := d.Refusal(); r == nil || r.Code != paddock.ContainmentUnavailable || !strings.Contains(r.Message, "this kernel doesn't count them") {
				t.Errorf("%s: %v", name, r)
			}
			continue
		}
		if d.Grant() == nil {
			t.Errorf("%s: %v", name, d.Refusal())
			continue
		}
		got := d.Grant().Limits
		got.Timeout, got.Output, got.OpenFiles = 0, 0, 0
		if got != c.want {
			t.Errorf("%s: granted %+v", name, got)
		}
	}
}
