// Package protect keeps a run from writing what other tools would execute later:
// git's hooks and configuration, and the settings of agents and editors.
//
// A path that exists is shown read-only, and what it lies in can't be renamed. A
// path that is missing must not be made, and the kernel can only keep a place
// that exists: so an empty placeholder is put there for the time of the run. It
// is known by its date, and every run that relies on it holds a shared lock on
// it, so the last one takes it away, also when others crashed before.
//
// # Limits
//
// Only paths at the root of the workspace are kept; what lies deeper is only
// known by [Matches].
// A protected path that is a symbolic link can't be kept, and is refused. Where
// git has no directory yet none is made up: programs would take it for a
// repository.
package protect

import (
	"slices"
	"strings"
)

// names are what is protected; those that end in a slash are directories. What
// has a directory in front is only kept where that directory is.
var names = []string{
	".git/hooks/", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/commondir", ".gitmodules",
	".claude/", ".mcp.json", ".codex/", ".cursor/", ".gemini/", ".opencode/", ".zed/", ".vscode/", ".idea/", ".devcontainer/",
	".envrc", ".paddock/",
}

// Matches reports whether something at path, relative to a workspace, is one of
// the places to keep, or lies in one, at any depth: below the top, a submodule's
// or a nested repository's are meant. Dir says that it is a directory.
func Matches(path string, dir bool) bool {
	words := strings.Split(path, "/")
	for i, word := range words {
		if slices.Contains(names, word) || slices.Contains(names, word+"/") {
			return true
		}
		if word != ".git" {
			continue
		}
		inside := words[i+1:]
		if len(inside) == 0 {
			return !dir // a file says where the repository is
		}
		return ofGit(inside)
	}
	return false
}

// ofGit reports whether a path in a .git says what git executes or obeys. What
// is named after branches and contents isn't looked at.
func ofGit(words []string) bool {
	if slices.Contains([]string{"objects", "refs", "logs"}, words[0]) {
		return false
	}
	for i, word := range words {
		switch word {
		case "hooks", "config", "config.worktree", "commondir", "gitdir":
			return true
		case "attributes":
			if i > 0 && words[i-1] == "info" {
				return true
			}
		}
	}
	return false
}
