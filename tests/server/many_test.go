//go:build linux

package server_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
)

// However many runs are recorded, a page of their list, one of them and a page of its
// output take as long.
func TestManyRecorded(t *testing.T) {
	base := t.TempDir()
	if *measure { // millions of small files are no load for a disk that others use
		if room, err := os.MkdirTemp("/dev/shm", "paddock-server-"); err == nil {
			base = room
			t.Cleanup(func() { must(t, os.RemoveAll(room)) })
		}
	}
	s := open(t, filepath.Join(base, "state"))
	n := min(sized(*recorded, 50), 100_000) // tmpfs counts each link as a file; TestManyServed takes more
	model := s.one()
	begun := time.Now()
	ids := s.multiply(model.ID, n)
	if *measure {
		t.Logf("%d runs were made in %s", n, time.Since(begun).Round(time.Second))
	}
	type question struct {
		what, path string
	}
	ask := func(of func(id paddock.RunID) question) {
		var took []float64
		what := ""
		for range sized(1000, 3) {
			q := of(ids[rand.IntN(len(ids))])
			begun := time.Now()
			s.ask(http.MethodGet, q.path, "", nil)
			took, what = append(took, milliseconds(time.Since(begun))), q.what
		}
		tell(t, what, took)
	}
	ask(func(paddock.RunID) question { return question{"the newest 50 of many runs", "/api/v1/runs?limit=50"} })
	ask(func(id paddock.RunID) question {
		return question{"50 runs from anywhere on", "/api/v1/runs?limit=50&cursor=" + string(id)}
	})
	ask(func(id paddock.RunID) question { return question{"one of many runs", "/api/v1/runs/" + string(id)} })
	ask(func(id paddock.RunID) question {
		return question{"a page of its output", "/api/v1/runs/" + string(id) + "/output?limit=10000"}
	})
	var page app.Listing
	s.ask(http.MethodGet, "/api/v1/runs?limit=50", "", &page)
	if len(page.Runs) != min(50, n+1) || page.Next == "" && n >= 50 {
		t.Errorf("%d runs, next %q", len(page.Runs), page.Next)
	}
}

// unread is what nobody opens who reads a run that is over.
var unread = []string{"claim.json", "seen", "token", "lock", "supervisor.log"}

// multiply makes n runs that differ from the model in their ids alone, of a month. What
// doesn't differ is shared by links, and what nobody opens who reads a run is left out: a
// million are 8 GiB where a block has 4 KiB. Tmpfs counts each name as a file, and has
// room for fewer.
func (s *stand) multiply(model paddock.RunID, n int) (ids []paddock.RunID) {
	s.t.Helper()
	from, err := filepath.Glob(filepath.Join(s.state, "runs", "*", string(model)))
	must(s.t, err)
	if len(from) != 1 {
		s.t.Fatalf("%v", from)
	}
	entries, err := os.ReadDir(from[0])
	must(s.t, err)
	texts := map[string][]byte{}
	last := map[string]string{} // of each name, where the next copy is linked from
	for _, e := range entries {
		if !e.Type().IsRegular() || slices.Contains(unread, e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from[0], e.Name()))
		must(s.t, err)
		if bytes.Contains(text, []byte(model)) {
			texts[e.Name()] = text
		} else {
			last[e.Name()] = filepath.Join(from[0], e.Name())
		}
	}
	newest := model.Time().Add(-time.Second)
	days := map[string][]paddock.RunID{}
	for i := range n {
		at := newest.Add(-30 * 24 * time.Hour / time.Duration(n) * time.Duration(i)) // in this order: it has to fit
		id, err := paddock.NewRunID(at, nil)
		must(s.t, err)
		day := id.Time().Format("20060102")
		ids, days[day] = append(ids, id), append(days[day], id)
	}
	faults, turn := make(chan error, len(days)), make(chan struct{}, 2*runtime.NumCPU()) // a disk answers several at once
	for day, some := range days {
		go func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			faults <- doubles{filepath.Join(s.state, "runs", day), model, texts, maps.Clone(last)}.make(some)
		}()
	}
	for range days {
		must(s.t, <-faults)
	}
	return ids
}

// doubles of a run are made in one day's directory.
type doubles struct {
	dir   string
	model paddock.RunID
	texts map[string][]byte // with the model's id in them
	last  map[string]string // of each name without, where the next copy is linked from
}

func (c doubles) make(ids []paddock.RunID) error {
	err := os.MkdirAll(c.dir, 0o700)
	for _, id := range ids {
		if err != nil {
			return err
		}
		dir := filepath.Join(c.dir, string(id))
		err = os.Mkdir(dir, 0o700)
		for name, text := range c.texts {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(text, []byte(c.model), []byte(id)), 0o600))
		}
		for name, source := range c.last {
			to := filepath.Join(dir, name)
			if os.Link(source, to) != nil { // it has as many names as it can have
				text, bad := os.ReadFile(source)
				err, c.last[name] = errors.Join(err, bad, os.WriteFile(to, text, 0o600)), to
			}
		}
	}
	return err
}
