package owner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// shown is what the map text makes of id.
func shown(t interface{ Fatalf(string, ...any) }, text string, id uint64) (as uint64, times int) {
	for line := range strings.Lines(text) {
		var inside, outside, count uint64
		if n, err := fmt.Sscan(line, &inside, &outside, &count); err != nil || n != 3 || count == 0 {
			t.Fatalf("a line %q, %v", line, err)
		}
		if id >= inside && id < inside+count {
			as, times = outside+id-inside, times+1
		}
	}
	return as, times
}

// A map swaps two ids and shows every other once and as it is.
func TestSwap(t *testing.T) {
	t.Parallel()
	ids := rapid.OneOf(rapid.SampledFrom([]uint32{0, 1, 2, 1000, 65534, 1<<31 - 1, 1 << 31, 1<<32 - 3, 1<<32 - 2}), rapid.Uint32Max(1<<32-2))
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		text := Swap(a, b)
		if lines := strings.Count(text, "\n"); lines > 5 {
			t.Fatalf("%d lines: a kernel may take five", lines)
		}
		for _, id := range []uint64{uint64(a), uint64(b), uint64(a) + 1, uint64(b) + 1, 0, 1<<32 - 2, uint64(ids.Draw(t, "other"))} {
			want := id
			switch id {
			case uint64(a):
				want = uint64(b)
			case uint64(b):
				want = uint64(a)
			case 1<<32 - 1:
				continue // there is none
			}
			if as, times := shown(t, text, id); as != want || times != 1 {
				t.Fatalf("swap %d and %d: %d is shown as %d, %d times, want %d\n%s", a, b, id, as, times, want, text)
			}
		}
		if _, times := shown(t, text, 1<<32-1); times != 0 {
			t.Fatalf("the id of nobody is mapped:\n%s", text)
		}
	})
}

// Every run gets one of the reserved ids, and seldom another's.
func TestFor(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	for i := range 1000 {
		a := For(paddock.RunID(fmt.Sprintf("r%026d", i)))
		if a.UID < Reserved || a.UID >= Reserved+ReservedCount || a.GID != a.UID {
			t.Fatalf("%s", a)
		}
		seen[a.UID] = true
	}
	if len(seen) < 990 {
		t.Errorf("%d accounts of 1000 runs", len(seen))
	}
}

// What can't be shown says whose it is, where it is and what to do.
func TestWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root shows anything as another's")
	}
	namespace := func(string, string) (*os.File, error) { return os.Open("/proc/self/ns/user") }
	s := As(paddock.Account{UID: Reserved, GID: Reserved}, namespace)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err := s.Show("/proc/sys", true)
	if !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	for _, want := range []string{"/proc/sys belongs to uid 0 and gid 0", "(proc)", "containment.run_as", "uid 1900000000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := s.Show("/proc/self/exe", true); err == nil {
		t.Error("a link was followed where none may be")
	}
	if _, err := s.Show("/no/such/directory", false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	broken := As(paddock.Account{UID: 1, GID: 1}, func(string, string) (*os.File, error) { return nil, errors.New("none left") })
	if _, err := broken.Show("/", true); err == nil || !strings.Contains(err.Error(), "none left") {
		t.Error(err)
	}
}
