package artifact

import (
	"slices"
	"sync"
	"testing"

	"paddock"
)

// A synced file tells when it is made durable.
type synced struct {
	file
	tell func()
}

func (s synced) Sync() error { s.tell(); return s.file.Sync() }

// TestSyncsOfASeal pins what a seal makes durable: what isn't empty, once. The
// list is in docs/benchmarks.md.
func TestSyncsOfASeal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write []paddock.Stream
		want  []string
	}{
		"nothing":    {nil, nil},
		"one stream": {[]paddock.Stream{paddock.Stdout}, []string{"frames", "stdout"}},
		"both":       {[]paddock.Stream{paddock.Stderr, paddock.Stdout, paddock.Stderr}, []string{"frames", "stderr", "stdout"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := create(t, Options{})
			var mu sync.Mutex
			var got []string
			tell := func(name string) func() {
				return func() {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, name)
				}
			}
			b.kept[0].f, b.kept[1].f, b.file = synced{b.kept[0].f, tell("stdout")}, synced{b.kept[1].f, tell("stderr")}, synced{b.file, tell("frames")}
			for _, s := range c.write {
				put(t, b, s, "x")
			}
			if _, _, err := b.Seal(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("made durable: %q, want %q", got, c.want)
			}
		})
	}
}
