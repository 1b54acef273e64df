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
// known by [Matches] and [Judge].
// A protected path that is a symbolic link can't be kept, and is refused. Where
// git has no directory yet none is made up: programs would take it for a
// repository.
package protect

import (
	"slices"
	"strings"
	"unicode"
)

// names are what is protected; those that end in a slash are directories. What
// has a directory in front is only kept where that directory is.
var names = []string{
	".git/hooks/", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/commondir", ".gitmodules",
	".claude/", ".mcp.json", ".codex/", ".cursor/", ".gemini/", ".opencode/", ".zed/", ".vscode/", ".idea/", ".devcontainer/",
	".envrc", ".paddock/",
}

// anywhere are those that don't depend on what they lie in.
var anywhere = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		if name = strings.TrimSuffix(name, "/"); !strings.Contains(name, "/") {
			all[name] = true
		}
	}
	return all
}()

// The surroundings of a name, for [Judge].
const (
	plain uint8 = iota // nothing is special about them
	gitTop
	git
	gitInfo
	kept // a protected place
)

// Judge says of the entry called name of a directory whether it is one of the
// places to keep, or lies in one; what the surroundings of its own entries are;
// and whether none of them can be. At says what the directory's are: zero at the
// top. Dir is set when the entry is a directory.
//
// Where a file system, or one that the files get to, doesn't tell large letters
// from small ones, other spellings are obeyed as well, so they match.
func Judge(at uint8, name string, dir bool) (match bool, inside uint8, leaf bool) {
	if at == kept {
		return true, kept, false
	}
	if at == plain {
		if name != "" && name[0] != '.' && name[0] < 0x80 && name[0]|0x20 != 'g' {
			return false, plain, false
		}
		switch name = fold(name); {
		case anywhere[name]:
			return true, kept, false
		case name != ".git" && name != "git~1":
			return false, plain, false
		}
		// A file says where the repository is.
		return !dir, gitTop, false
	}
	if at == gitTop && (name == "objects" || name == "refs" || name == "logs") {
		return false, git, true // named after contents and branches
	}
	switch name = fold(name); {
	case slices.Contains([]string{"hooks", "config", "config.worktree", "commondir", "gitdir"}, name), at == gitInfo && name == "attributes":
		return true, kept, false
	case name == "info":
		return false, gitInfo, false
	}
	return false, git, false
}

// fold returns what a name is for who doesn't tell large letters from small ones,
// passes over characters without width (HFS+), or over dots and spaces at the end
// (NTFS).
func fold(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		case r < 0x80:
			return unicode.ToLower(r)
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
	return strings.TrimRight(name, ". ")
}

// Matches reports whether something at path, relative to a workspace, is one of
// the places to keep, or lies in one, at any depth: below the top, a submodule's
// or a nested repository's are meant. Dir says that it is a directory.
func Matches(path string, dir bool) bool {
	words := strings.Split(path, "/")
	at := plain
	for i, word := range words {
		match, inside, leaf := Judge(at, word, dir || i < len(words)-1)
		if match || leaf {
			return match
		}
		at = inside
	}
	return false
}

// Ours reports whether what is at path, relative to a workspace, is dated like a
// placeholder that stands where one may: a directory that holds nothing of
// anybody's, unless something is in it. Written is its time in nanoseconds.
func Ours(path string, dir bool, written int64) bool {
	return dir && written == 0 && (slices.Contains(names, path) || slices.Contains(names, path+"/"))
}
