package lifecycle

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/testproc"
)

func holdName(t *testing.T) string { return fmt.Sprintf("hold-%s-%d", t.Name(), os.Getpid()) }

func TestAHoldSaysWhatEnforcesEachLimit(t *testing.T) {
	t.Parallel()
	names, why := Holdable(paddock.Off)
	if !slices.Contains(names, resource.Memory) {
		testproc.Skip(t, "memory can't be held: "+why)
	}
	h, err := NewHold(holdName(t), paddock.Limits{Memory: 1 << 20, MemoryByDefault: true}, paddock.Off, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.Means[resource.Memory] == resource.None || h.Means[resource.Processes] != resource.None || h.Means[resource.CPUs] != resource.None {
		t.Errorf("means %v", h.Means)
	}
	if len(h.Join()) == 0 {
		t.Error("there is no group to join")
	}
	if kills, err := h.OOMKills(); err != nil || kills != 0 {
		t.Errorf("%d kills, %v", kills, err)
	}
	if err := h.Remove(); err != nil {
		t.Error(err)
	}
}

func TestWithoutLimitsThereIsNoGroup(t *testing.T) {
	t.Parallel()
	h, err := NewHold(holdName(t), paddock.Limits{}, paddock.Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	none := map[string]string{"memory": "none", "processes": "none", "cpus": "none"}
	if diff := cmp.Diff(none, h.Means); diff != "" || h.Join() != nil || h.Cgroup() != nil || h.Partial() {
		t.Errorf("%s %v", diff, h.Join())
	}
	kills, err := h.OOMKills()
	hits, err2 := h.ProcessLimitHits()
	if kills != 0 || hits != 0 || err != nil || err2 != nil {
		t.Errorf("%d kills, %d hits, %v, %v", kills, hits, err, err2)
	}
	if err := h.Remove(); err != nil {
		t.Error(err)
	}
}

// Where the kernel refuses what it seemed to offer, defaults are given up and
// nothing else is.
// A run has a group where a limit is held, and no other: each hierarchy costs its
// making, its joining and its removal.
func TestAHoldMakesNoMoreGroupsThanItNeeds(t *testing.T) {
	t.Parallel()
	if names, why := Holdable(paddock.Off); !slices.Contains(names, resource.Memory) || !slices.Contains(names, resource.Processes) {
		testproc.Skip(t, "memory and processes can't be held: "+why)
	}
	for i, c := range []struct {
		limits paddock.Limits
		most   int
	}{
		{paddock.Limits{OpenFiles: 9, Disk: 1 << 30}, 0},
		{paddock.Limits{Memory: 1 << 20}, 1},
		{paddock.Limits{Memory: 1 << 20, Processes: 9}, 2}, // two of v1, or one of v2
	} {
		h, err := NewHold(fmt.Sprint(holdName(t), "-", i), c.limits, paddock.Off, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(h.Join()); n > c.most {
			t.Errorf("%+v: %d groups, want at most %d", c.limits, n, c.most)
		}
		if err := h.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func TestADefaultNeverStandsInTheWay(t *testing.T) {
	t.Parallel()
	bad := "no/name"
	l := paddock.Limits{Memory: 1 << 30, Processes: 9, MemoryByDefault: true, ProcessesByDefault: true}
	h, err := NewHold(bad, l, paddock.Off, nil)
	if err != nil || h.Means[resource.Memory] != resource.None || h.Means[resource.Processes] != resource.None {
		t.Errorf("defaults: %+v, %v", h, err)
	}
	l.MemoryByDefault = false
	if h, err := NewHold(bad, l, paddock.Off, nil); err == nil {
		t.Errorf("what was said is given up: %+v", h)
	}
}
