package protect

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		clean, dir := strings.CutSuffix(name, "/")
		for _, path := range []string{clean, "deep/er/" + clean, clean + "/inside"} {
			if !Matches(path, dir) {
				t.Errorf("%s isn't protected", path)
			}
		}
	}
	for path, want := range map[string]bool{
		".git/modules/x/hooks/pre-commit": true, ".git/modules/x/config": true, ".git/worktrees/x/gitdir": true, "a/.git/config": true,
		".git/index": false, ".git/HEAD": false, ".git/refs/heads/config": false, ".git/objects/ab/hooks": false, ".git/logs/refs/heads/hooks": false,
		"config": false, "hooks/x": false, ".github/workflows/x.yml": false, "a.envrc": false, ".git/info/exclude": false,
	} {
		if got := Matches(path, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for path, want := range map[string]bool{
		".GIT/hooks/x": true, "a/.Git/Config": true, "a/.giT": true, ".MCP.JSON": true, ".envRC": true, ".VSCode/tasks.json": true, ".clAude": true,
		".g\u200cit/config": true, "\ufeff.envrc": true, ".git./config": true, ".envrc ": true, ".vſcode/x": true, "GIT~1/hooks/x": true, ".git/HOOKS/x": true,
		".git/Objects/config": true, // another directory, where letters are told apart
		".GIT/index":          false, "gitx/config": false, ".gitx/config": false, "git/config": false, ".git/info/sub/attributes": false, "a\xff": false, ".\xff": false,
	} {
		if got := Matches(path, false); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	if Matches("sub/.git", true) || !Matches("sub/.git", false) || !Matches(".git", false) {
		t.Error("a .git that is a file leads git elsewhere, one that is a directory is judged by what is in it")
	}
}
