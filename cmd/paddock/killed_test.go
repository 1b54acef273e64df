//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
	"paddock/internal/testproc/lives"
)

// deaths says after how many things that were told each life of the server ends.
var deaths = []int{1, 3, 2, 6, 1, 9, 4}

// A server that is killed again and again, at whatever it is doing, and started on what
// it left: each request became one run, whoever reads has every byte once, accounts
// have what was answered, and nothing is held or left.
//
// The server is this test binary; make chaos does it with the real one, at random.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	token, file := strings.Repeat("t", 40), filepath.Join(y.work, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	gate := filepath.Join(y.work, "gate")
	k := lives.Keep(t, func(n int) (*testproc.Cmd, lives.Doom) {
		cmd := y.command("serve", "--json", "--listen", "127.0.0.1:0")
		cmd.Env = append(cmd.Env, "PADDOCK_TOKEN_FILE="+file)
		if n > len(deaths) {
			return cmd, lives.Doom{}
		}
		return cmd, lives.Doom{After: deaths[n-1]}
	})
	c := &lives.Client{Keeper: k, Token: token}
	defer c.HTTP.CloseIdleConnections()
	programs := [][]string{{"until", gate}, {"count", "30000"}, {"both"}, {"exit", "3"}, {"bytes"}}
	ids := make([]string, len(programs))
	stories := make([][2]*lives.Story, len(programs))
	var all sync.WaitGroup
	for i, words := range programs {
		all.Go(func() {
			ids[i] = startTwice(t, c, i, words)
			var readers sync.WaitGroup
			for r := range stories[i] {
				readers.Go(func() {
					seen := 0 // one of the two goes and comes back, too
					s, err := c.Follow(t.Context(), ids[i], func() bool { seen++; return r == 1 && seen%2 == 0 })
					if err != nil {
						t.Errorf("%v, reader %d: %v", words, r, err)
					}
					stories[i][r] = s
				})
			}
			readers.Wait()
		})
	}
	var made []string
	for { // until no life is left to be ended
		id, err := c.Invite(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, id)
		if _, killed := k.Lives(); killed >= len(deaths) {
			break
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	begun := 0
	for i, words := range programs {
		if y.toldOnce(c, i, words, ids[i], stories[i]) {
			begun++
		}
	}
	if err := c.Invited(t.Context(), made); err != nil {
		t.Error(err)
	}
	k.End()
	y.nothingHeld(state, begun)
}

// startTwice starts program i, by two requests with one key at once.
func startTwice(t *testing.T, c *lives.Client, i int, words []string) (id string) {
	t.Helper()
	var twins sync.WaitGroup
	var ids [2]string
	for n := range ids {
		twins.Go(func() { ids[n] = startOnce(t, c, i, append([]string{"prog"}, words...), http.StatusCreated) })
	}
	twins.Wait()
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("%v: one key, and two runs: %q", words, ids)
	}
	return ids[0]
}

// startOnce asks with the key of i.
func startOnce(t *testing.T, c *lives.Client, i int, argv []string, want int) (id string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"argv": argv})
	if err != nil {
		t.Error(err)
	}
	status, answer, err := c.Ask(t.Context(), http.MethodPost, "/api/v1/runs", fmt.Sprintf("key-%d", i), string(body))
	var run struct {
		ID string `json:"id"`
	}
	if want == http.StatusCreated && status == http.StatusAccepted { // it waits for its turn
		status = want
	}
	if err != nil || status != want || json.Unmarshal(answer, &run) != nil {
		t.Errorf("%q: %d %s, %v", argv, status, answer, err)
	}
	return run.ID
}

// toldOnce compares what readers were told of a run with what is kept of it, and reports
// whether it began: one that a server took from the queue and died of didn't, and nobody
// starts it again.
func (y *yard) toldOnce(c *lives.Client, i int, words []string, id string, stories [2]*lives.Story) (begun bool) {
	y.t.Helper()
	if again := startOnce(y.t, c, i, append([]string{"prog"}, words...), http.StatusCreated); again != id {
		y.t.Errorf("%v: afterwards its key is of %s and not of %s", words, again, id)
	}
	startOnce(y.t, c, i, []string{"prog", "say", "something else"}, http.StatusConflict)
	kept, err := filepath.Glob(filepath.Join(y.work, "home", ".local", "state", "paddock", "runs", "*", id))
	if err != nil || len(kept) > 1 {
		y.t.Fatalf("%v: run %s is in %q, %v", words, id, kept, err)
	}
	if len(kept) == 0 {
		for r, s := range stories {
			if s.State != string(paddock.FailedToStart) || len(s.Streams["stdout"])+len(s.Streams["stderr"]) > 0 {
				y.t.Errorf("%v, reader %d: it never began, and is %s", words, r, s.State)
			}
		}
		return false
	}
	want := map[string][]string{"until": {"exited", "ready\ndone\n"}, "both": {"exited", "out\n"}, "exit": {"exited", ""}, "bytes": {"exited", "\xff\x00\xfe\n"}}[words[0]]
	for r, s := range stories {
		for _, stream := range []string{"stdout", "stderr"} {
			data, err := os.ReadFile(filepath.Join(kept[0], stream))
			if err != nil && !os.IsNotExist(err) || !bytes.Equal(data, s.Streams[stream]) {
				y.t.Errorf("%v, reader %d: %d bytes of %s were told and %d are kept, %v", words, r, len(s.Streams[stream]), stream, len(data), err)
			}
		}
		// Who was killed before it had handed a run over leaves one that never began.
		if s.State == "lost" && len(s.Streams["stdout"]) == 0 {
			continue
		}
		if want != nil && !slices.Equal(want, []string{s.State, string(s.Streams["stdout"])}) || s.State != "exited" {
			y.t.Errorf("%v, reader %d: it is %s and printed %.100q", words, r, s.State, s.Streams["stdout"])
		}
	}
	return true
}

// nothingHeld looks at what a server that was killed could have left.
func (y *yard) nothingHeld(state string, runs int) {
	y.t.Helper()
	// Whoever comes after the last supervisor takes its run from what goes on.
	for _, pattern := range []string{filepath.Join(state, "runs", "*", "*", "lock"), filepath.Join(state, "*.lock"), filepath.Join(state, "journal", "lock")} {
		if err := testproc.Unlocked(pattern); err != nil {
			y.t.Error(err)
		}
	}
	y.output("audit", "verify")
	dirs, err := filepath.Glob(filepath.Join(state, "runs", "*", "*"))
	if err != nil || len(dirs) != runs {
		y.t.Errorf("%d runs were asked for, and there are %q, %v", runs, dirs, err)
	}
	if out := y.output("ps"); strings.Contains(out, "running") || strings.Contains(out, "starting") {
		y.t.Errorf("ps: %s", out)
	}
	for _, dir := range dirs {
		y.output("verify", filepath.Base(dir))
	}
	left, err := filepath.Glob(filepath.Join(state, "active", "*"))
	if err != nil || len(left) > 0 {
		y.t.Errorf("left: %q, %v", left, err)
	}
	// Every page of the database is looked at by what restores a backup.
	copied := filepath.Join(y.t.TempDir(), "copy")
	if err := sqlite.Backup(y.t.Context(), filepath.Join(state, "server.db"), copied); err != nil {
		y.t.Error(err)
	}
	if err := sqlite.Restore(y.t.Context(), copied, copied+"-restored"); err != nil {
		y.t.Errorf("server.db: %v", err)
	}
}
