package mcpserver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/mcpserver/trees"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// a grove notes what it is asked.
type grove struct{ asked []string }

func (g *grove) Make(_ context.Context, workspace, rev, key string) (string, error) {
	g.asked = append(g.asked, "make "+workspace+" "+rev+" "+key)
	return workspace + "/wt-1", nil
}

func (g *grove) List(_ context.Context, workspace string) (worktree.Listing, error) {
	g.asked = append(g.asked, "list "+workspace)
	return worktree.Listing{Trees: []worktree.Tree{{Name: workspace + "/wt-1", Made: time.Unix(5, 0).UTC(), ForRun: true, Run: "r01kb0000000000000000000000"}}, More: true}, nil
}

func (g *grove) Remove(_ context.Context, name string) error {
	g.asked = append(g.asked, "remove "+name)
	if strings.HasSuffix(name, "/none") {
		return paddock.Refused(paddock.NotFound, "There is no directory none in that workspace.")
	}
	return nil
}

// Worktrees are made, listed and removed by tools where there are workspaces, and nothing
// that isn't meant reaches them.
func TestTrees(t *testing.T) {
	t.Parallel()
	g := &grove{}
	c := connect(t, Config{App: &fake{}, Trees: g})
	if made := ok[trees.Made](c, "worktree_create", `{"workspace":"site","rev":"main","idempotencyKey":"k"}`); made.Workspace != "site/wt-1" {
		t.Errorf("%+v", made)
	}
	if l := ok[trees.Listing](c, "worktree_list", `{"workspace":"site"}`); len(l.Worktrees) != 1 || !l.More || l.Worktrees[0] != (trees.Tree{Workspace: "site/wt-1", MadeAt: time.Unix(5, 0).UTC(), ForTask: true, TaskID: "r01kb0000000000000000000000"}) {
		t.Errorf("%+v", l)
	}
	if r := ok[trees.Removed](c, "worktree_remove", `{"worktree":"site/wt-1"}`); r.Removed != "site/wt-1" {
		t.Errorf("%+v", r)
	}
	if r := no(c, "worktree_remove", `{"worktree":"site/none"}`); r.Code != paddock.NotFound {
		t.Errorf("%+v", r)
	}
	want := []string{"make site main k", "list site", "remove site/wt-1", "remove site/none"}
	if !slices.Equal(g.asked, want) {
		t.Errorf("asked %q, want %q", g.asked, want)
	}
	long := strings.Repeat("a", 2001)
	for tool, bad := range map[string][]string{
		"worktree_create": {`{}`, `{"workspace":"site"}`, `{"rev":"main"}`, `{"workspace":"","rev":"main"}`, `{"workspace":"a\u0000","rev":"main"}`, `{"workspace":"site","rev":"` + long + `"}`, `{"workspace":7,"rev":"main"}`, `{"workspace":"site","rev":"main","idempotencyKey":"a\u0000"}`, `{"workspace":"site","rev":"main","into":"x"}`, `{"workspace":"site","workspace":"site","rev":"main"}`},
		"worktree_list":   {`{}`, `{"workspace":""}`, `{"workspace":["site"]}`, `{"workspace":"` + long + `"}`, `{"workspace":"a\u0000"}`},
		"worktree_remove": {`{}`, `{"worktree":"site"}`, `{"worktree":"site/"}`, `{"worktree":"/wt-1"}`, `{"worktree":"` + long + `/x"}`, `{"worktree":null}`, `{"worktree":"site/a\u0000"}`},
	} {
		for _, args := range bad {
			if r := no(c, tool, args); r.Code != paddock.InvalidRequest {
				t.Errorf("%s %.80s: %+v", tool, args, r)
			}
		}
	}
	if len(g.asked) != len(want) {
		t.Errorf("asked %q", g.asked)
	}
	if list := connect(t, Config{App: &fake{}}).ask("tools/list", `{}`); strings.Contains(string(list.Result), "worktree_") {
		t.Error("where there are no workspaces there are tools for worktrees")
	}
}
