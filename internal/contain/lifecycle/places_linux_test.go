package lifecycle

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"paddock"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/testproc"
)

// Whatever was found before, a run is held to its limits where they can be held now.
func TestPlacesFoundBefore(t *testing.T) {
	t.Parallel()
	if names, why := Holdable(paddock.Off); !slices.Contains(names, resource.Memory) || !slices.Contains(names, resource.Processes) {
		testproc.Skip(t, "memory and processes can't be held: "+why)
	}
	found := func() *Places {
		p := FindPlaces()
		if p == nil {
			t.Fatal("nothing was found")
		}
		p.host.V1 = maps.Clone(p.host.V1)
		return p
	}
	for name, change := range map[string]func(*Places){
		"as they are":           func(*Places) {},
		"in another cgroup":     func(p *Places) { p.own += "0::/elsewhere\n"; p.host.V2.Folder = "/no/such/folder" },
		"none":                  func(p *Places) { p.host.V1, p.host.V2.Folder, p.host.V2.Controllers = nil, "", nil },
		"removed since":         func(p *Places) { gone(p) },
		"of memory but no more": func(p *Places) { delete(p.host.V1, "pids") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := found()
			change(p)
			l := paddock.Limits{Memory: 1 << 24, Processes: 9, MemoryByDefault: true, ProcessesByDefault: true}
			h, err := NewHold(fmt.Sprintf("places-%d-%d", os.Getpid(), len(name)), l, paddock.Off, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []string{resource.Memory, resource.Processes} {
				if h.Means[limit] == resource.None {
					t.Errorf("%s isn't held: %v", limit, h.Means)
				}
			}
			if len(h.Join()) == 0 {
				t.Error("there is no group to join")
			}
			if err := h.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

// gone has all folders be where nothing can be made.
func gone(p *Places) {
	p.host.V2.Folder = "/no/such/folder/paddock"
	for c := range p.host.V1 {
		p.host.V1[c] = "/no/such/folder/paddock"
	}
}
