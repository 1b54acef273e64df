package resource

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock/internal/contain/lifecycle/resource/hierarchy"
)

var (
	delegated = Host{V2: hierarchy.Tree{Mount: "/cg", Root: "/", Folder: "/cg/paddock", Controllers: []string{"cpu", "memory", "pids"}}}
	mixed     = Host{
		V2: hierarchy.Tree{Mount: "/u", Root: "/", Folder: "/u/paddock"},
		V1: map[string]string{"memory": "/m/paddock", "pids": "/p/paddock", "cpu": "/p/paddock"},
	}
	nothing = Host{V2: hierarchy.Tree{Why: "nothing is ours to write"}, Hard: map[int]uint64{rlimitNofile: 100}}
)

func TestPlan(t *testing.T) {
	t.Parallel()
	tree := Limits{Memory: 1 << 20, Processes: 64, CPUs: 1.5}
	accepting := tree
	accepting.Accept = Accept{AddressSpace: true, UserNamespace: true, Unenforced: []string{CPUs}}
	kill := Directory{Kind: CgroupV2, Folder: "/cg/paddock"}
	for _, tc := range []struct {
		name   string
		host   Host
		limits Limits
		want   Plan
	}{
		{"no limits", delegated, Limits{}, Plan{Directories: []Directory{kill}, Means: Means{}}},
		{"no limits and no cgroup", nothing, Limits{}, Plan{Means: Means{}}},
		{"v2", delegated, tree, Plan{
			Directories: []Directory{{CgroupV2, "/cg/paddock", []string{"memory", "pids", "cpu"}, []File{
				{"memory.max", "1048576", false, false}, {"memory.swap.max", "0", true, false}, {"memory.oom.group", "1", true, false},
				{"pids.max", "64", false, false}, {"cpu.max", "150000 100000", false, false},
			}}},
			Means: Means{Memory: CgroupV2, Processes: CgroupV2, CPUs: CgroupV2},
		}},
		{"v1 limits, v2 kills", mixed, tree, Plan{
			Directories: []Directory{{Kind: CgroupV2, Folder: "/u/paddock"}, {CgroupV1, "/m/paddock", nil, []File{
				{"memory.limit_in_bytes", "1048576", false, false}, {"memory.memsw.limit_in_bytes", "1048576", true, false}, {"memory.swappiness", "0", false, false},
			}}, {CgroupV1, "/p/paddock", nil, []File{
				{"pids.max", "64", false, false}, {"cpu.cfs_period_us", "100000", false, true}, {"cpu.cfs_quota_us", "150000", false, true},
			}}},
			Means: Means{Memory: CgroupV1, Processes: CgroupV1, CPUs: CgroupV1},
		}},
		{"little CPU", mixed, Limits{CPUs: 0.002}, Plan{
			Directories: []Directory{{Kind: CgroupV2, Folder: "/u/paddock"}, {CgroupV1, "/p/paddock", nil, []File{
				{"cpu.cfs_period_us", "1000000", false, true}, {"cpu.cfs_quota_us", "2000", false, true},
			}}},
			Means: Means{CPUs: CgroupV1},
		}},
		{"approximated", nothing, accepting, Plan{
			Rlimits: []Rlimit{{"as", rlimitAS, 1 << 20, 1 << 20}, {"nproc", rlimitNproc, 64, 64}},
			Means:   Means{Memory: RlimitAddressSpace, Processes: RlimitProcesses, CPUs: None},
		}},
		{"what is accepted isn't taken where better is to be had", delegated, Limits{Memory: 1 << 20, Accept: accepting.Accept}, Plan{
			Directories: []Directory{{CgroupV2, "/cg/paddock", []string{"memory"}, memoryFiles(1 << 20)[CgroupV2]}},
			Means:       Means{Memory: CgroupV2},
		}},
		{"each process", nothing, Limits{OpenFiles: 64, FileSize: 1 << 30, CPUTime: 1500 * time.Millisecond, Disk: 1}, Plan{
			Rlimits: []Rlimit{{"nofile", rlimitNofile, 64, 64}, {"fsize", rlimitFsize, 1 << 30, 1 << 30}, {"cpu", rlimitCPU, 2, 3}},
			Means:   Means{OpenFiles: RlimitProcess, FileSize: RlimitProcess, CPUTime: RlimitProcess, Disk: Watched},
		}},
		{"never raised", nothing, Limits{OpenFiles: 4096}, Plan{
			Rlimits: []Rlimit{{"nofile", rlimitNofile, 100, 100}},
			Means:   Means{OpenFiles: RlimitProcess},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.host.Plan(tc.limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanNamesWhatItCantHold(t *testing.T) {
	t.Parallel()
	partly := Host{V2: delegated.V2}
	partly.V2.Controllers = []string{"memory", "pids"}
	for _, tc := range []struct {
		name   string
		host   Host
		limits Limits
		want   []string
		text   string
	}{
		{"all at once", nothing, Limits{Memory: 1, Processes: 1, CPUs: 1}, []string{CPUs, Memory, Processes}, "nothing is ours to write"},
		{"one controller isn't delegated", partly, Limits{Memory: 1, Processes: 1, CPUs: 1}, []string{CPUs}, `/cg has the controllers "memory pids"`},
		{"accepting one isn't accepting another", nothing, Limits{Memory: 1, Processes: 1, Accept: Accept{AddressSpace: true}}, []string{Processes}, "Delegate=yes"},
		{"processes count only in a namespace of their own", nothing, Limits{Memory: 1, Processes: 1, Accept: Accept{UserNamespace: true}}, []string{Memory}, "memory"},
		{"the zero host", Host{}, Limits{CPUs: 1, Accept: Accept{Unenforced: []string{Memory}}}, []string{CPUs}, "there is none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.host.Plan(tc.limits)
			var refused *Unenforceable
			if !errors.As(err, &refused) || !slices.Equal(refused.Limits, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %q named, with %q", err, tc.want, tc.text)
			}
		})
	}
}

func TestPlanRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Limits{
		"memory:":     {Memory: -1},
		"processes:":  {Processes: -1},
		"open_files:": {OpenFiles: math.MinInt},
		"file_size:":  {FileSize: -1},
		"cpu_time:":   {CPUTime: -1},
		"disk:":       {Disk: -1},
		"cpus: NaN":   {CPUs: math.NaN()},
		"cpus: +Inf":  {CPUs: math.Inf(1)},
		"cpus: -1":    {CPUs: -1},
		"cpus: 1e-09": {CPUs: 1e-9},
		"cpus: 1e+09": {CPUs: 1e9},
		`"memroy"`:    {Accept: Accept{Unenforced: []string{"memroy"}}},
	} {
		if _, err := delegated.Plan(l); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("got %v, want %s …", err, name)
		}
	}
}

// Whatever is asked for on whatever host: each limit has a means that was
// accepted, or it is named in the error.
func TestNoLimitIsLostInSilence(t *testing.T) {
	t.Parallel()
	names := []string{Memory, Processes, CPUs, OpenFiles, FileSize, CPUTime, Disk}
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.SampledFrom([]Host{delegated, mixed, nothing, {}, {V1: map[string]string{"pids": "/p"}}}).Draw(t, "host")
		l := Limits{
			Memory: rapid.Int64Range(0, 1<<40).Draw(t, "memory"), Processes: rapid.IntRange(0, 9).Draw(t, "processes"),
			CPUs: rapid.SampledFrom([]float64{0, 0.001, 0.5, 64}).Draw(t, "cpus"), OpenFiles: rapid.IntRange(0, 9).Draw(t, "open files"),
			FileSize: rapid.Int64Range(0, 9).Draw(t, "file size"), CPUTime: time.Duration(rapid.Int64Range(0, 9).Draw(t, "cpu time")),
			Disk: rapid.Int64Range(0, 9).Draw(t, "disk"),
			Accept: Accept{rapid.Bool().Draw(t, "as"), rapid.Bool().Draw(t, "userns"),
				rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "unenforced")},
		}
		wanted := map[string]bool{Memory: l.Memory > 0, Processes: l.Processes > 0, CPUs: l.CPUs > 0, OpenFiles: l.OpenFiles > 0,
			FileSize: l.FileSize > 0, CPUTime: l.CPUTime > 0, Disk: l.Disk > 0}
		p, err := h.Plan(l)
		var refused *Unenforceable
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		for name, want := range wanted {
			means := p.Means[name]
			switch {
			case err != nil:
				if slices.Contains(refused.Limits, name) && (!want || slices.Contains(l.Accept.Unenforced, name)) {
					t.Errorf("%s refused for nothing", name)
				}
			case want != (means != ""):
				t.Errorf("%s: wanted %v, means %q", name, want, means)
			case means == None && !slices.Contains(l.Accept.Unenforced, name),
				means == RlimitAddressSpace && !l.Accept.AddressSpace, means == RlimitProcesses && !l.Accept.UserNamespace:
				t.Errorf("%s: %s wasn't accepted", name, means)
			}
		}
	})
}
