//go:build linux

package server_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
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
	n := sized(*recorded, 50)
	model := s.one()
	begun := time.Now()
	ids := s.multiply(model, n)
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

// multiply makes n runs that differ from the model in their ids alone, of a month. Output
// is shared by links.
func (s *stand) multiply(model paddock.Run, n int) (ids []paddock.RunID) {
	s.t.Helper()
	from, err := filepath.Glob(filepath.Join(s.state, "runs", "*", string(model.ID)))
	must(s.t, err)
	if len(from) != 1 {
		s.t.Fatalf("%v", from)
	}
	entries, err := os.ReadDir(from[0])
	must(s.t, err)
	texts := map[string][]byte{}
	var links []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from[0], e.Name()))
		must(s.t, err)
		if bytes.Contains(text, []byte(model.ID)) {
			texts[e.Name()] = text
		} else {
			links = append(links, e.Name())
		}
	}
	newest := model.CreatedAt.Add(-time.Second)
	for i := range n {
		at := newest.Add(-time.Duration(i) * 30 * 24 * time.Hour / time.Duration(n))
		id, err := paddock.NewRunID(at, nil)
		must(s.t, err)
		dir := filepath.Join(s.state, "runs", id.Time().Format("20060102"), string(id))
		err = os.MkdirAll(dir, 0o700)
		for name, text := range texts {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(text, []byte(model.ID), []byte(id)), 0o600))
		}
		for _, name := range links {
			err = errors.Join(err, linkOrCopy(filepath.Join(from[0], name), filepath.Join(dir, name)))
		}
		must(s.t, err)
		ids = append(ids, id)
	}
	return ids
}

// linkOrCopy copies where a file has as many names as it can have.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	text, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, text, 0o600))
}
