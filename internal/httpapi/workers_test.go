//go:build linux

package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate/accounts/opened/machines"
	"paddock/internal/relay"
	"paddock/internal/relay/anchors"
)

// An admin adds a worker; with what he was told it connects, and its house is asked. Once
// it is removed it is one no more.
func TestWorkerConnects(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var run paddock.Run
	if err := json.Unmarshal(s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","echo far away"]}`).body, &run); err != nil || run.ID == "" {
		t.Fatal(err)
	}
	a := s.do(http.MethodPost, "/api/v1/workers", "admin", `{"name":"gpu-1","labels":["gpu","big","gpu"],"capacity":4}`)
	var w machines.Added
	if err := json.Unmarshal(a.body, &w); a.StatusCode != http.StatusCreated || err != nil || !auth.IsWord(auth.WorkerWord, w.Credential) || len(w.Labels) != 2 || w.Capacity != 4 {
		t.Fatalf("%d %s, %v", a.StatusCode, a.body, err)
	}
	s.do(http.MethodPost, "/api/v1/workers", "admin", `{"name":"gpu-1"}`).problem(t, http.StatusConflict, paddock.Conflict)
	for _, bad := range []string{`{"name":""}`, `{"name":"GPU"}`, `{"name":"a1","capacity":-1}`, `{"name":"a1","capacity":1000000}`, `{"name":"a1","labels":["\u0000"]}`, `{"name":"` + strings.Repeat("a", 1000) + `"}`, `{"name":"a1","token":"x"}`} {
		s.do(http.MethodPost, "/api/v1/workers", "admin", bad).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	upgrade := func(as string) reply {
		return s.do(http.MethodGet, relay.Path, as, "", func(r *http.Request) {
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", relay.Protocol)
		})
	}
	for _, as := range []string{"", "admin", "nobody", w.Credential[:len(w.Credential)-1], strings.Replace(w.Credential, "pdw_", "pdk_", 1)} {
		upgrade(as).problem(t, http.StatusUnauthorized, paddock.Unauthenticated)
	}
	s.get(relay.Path, w.Credential).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	s.get("/api/v1/runs", w.Credential).problem(t, http.StatusUnauthorized, paddock.Unauthenticated) // it is no account
	s.get("/api/v1/whoami?token="+w.Credential, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)

	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	defer done.Wait()
	defer cancel()
	done.Go(func() {
		if err := relay.Serve(ctx, relay.Config{Server: s.url, Token: w.Credential, House: s.app, Head: anchors.Teller(filepath.Join(s.dir, "state")), Log: slog.New(slog.DiscardHandler), Now: time.Now}); err != nil {
			t.Error(err)
		}
	})
	far := s.hub.At(string(w.ID))
	as := paddock.Principal{Kind: paddock.User, ID: "user:operator"}
	if got, err := far.Wait(t.Context(), as, run.ID, 0); err != nil || got.State != paddock.Exited {
		t.Errorf("%+v, %v", got, err)
	}
	if page, err := far.Output(t.Context(), as, run.ID, paddock.PageRequest{}); err != nil || page.Content != "far away\n" || !page.EOF {
		t.Errorf("%+v, %v", page, err)
	}
	if text := s.get("/api/v1/workers", "admin").body; strings.Contains(string(text), `"journal"`) {
		t.Errorf("before it told of its journal: %s", text)
	}
	s.heads.Round(t.Context())
	if text := s.get("/api/v1/workers", "admin").body; !strings.Contains(string(text), `"journal":{"entries":`) || strings.Contains(string(text), "problem") {
		t.Errorf("after that: %s", text)
	}
	if len(s.anchored) != 1 || s.anchored[0].Anchored.Worker != string(w.ID) || !s.anchored[0].Anchored.First || s.anchored[0].Anchored.Size < 4 {
		t.Errorf("%+v", s.anchored)
	}
	if _, err := far.Look(t.Context(), paddock.Principal{Kind: paddock.User, ID: "user:bob"}, run.ID); err == nil {
		t.Error("it is bob's, too")
	}
	if text := s.get("/metrics", "admin"); !strings.Contains(string(text.body), "\npaddock_connected_workers 1\n") {
		t.Errorf("%s", text.body)
	}
	if a := s.do(http.MethodDelete, "/api/v1/workers/gpu-1", "admin", ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	upgrade(w.Credential).problem(t, http.StatusUnauthorized, paddock.Unauthenticated)
	s.do(http.MethodDelete, "/api/v1/workers/gpu-1", "admin", "").problem(t, http.StatusNotFound, paddock.NotFound)
	if log := s.log.String(); strings.Contains(log, w.Credential) || !strings.Contains(log, "user=worker:gpu-1") {
		t.Errorf("the log: %s", log)
	}
}
