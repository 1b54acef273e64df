// Package lines is the rest of the list of attempts: those that are lines of shell.
// Exit status 0 means that a line succeeded.
//
// # Limits
//
// Only tests run them; the doctor may not count on a shell.
package lines

import (
	"paddock"
	"paddock/internal/contain/probe/attempt"
)

// A Line is an attempt.
type Line struct {
	Name string
	// Row is the first cell of its row in docs/threat-model.md, empty where none
	// speaks of it.
	Row string
	// Promises are like those of [attempt.Attempt].
	Promises string
	// Text is what a shell is told.
	Text string
}

// At returns what the level promises.
func (l Line) At(level paddock.Level) attempt.Expectation { return attempt.Expect(l.Promises, level) }

const (
	protected = "protected places at the top of the root (git's hooks and configuration, settings of agents and editors)"
	deeper    = "the same deeper in the root, and a whole `.git` made in a root that has none"
	mounts    = "mounts, new namespaces, chroot, setns"
	executes  = "what a program starts in turn is permitted too"
)

// Plain are the lines for any policy. Each has a repository of its own as its
// workspace, with settings of an agent; PROGRAM is a program of the policy. $0 is the
// home of the account.
var Plain = []Line{
	{"git: make a missing hook", protected, "hoo", "echo x > .git/hooks/pre-commit"},
	{"git: change its configuration", protected, "hoo", "echo x >> .git/config"},
	{"git: change its configuration by git", protected, "hoo", "git config core.pager evil"},
	{"git: replace its configuration", protected, "hoo", "echo x > n && mv -T n .git/config"},
	{"git: remove its configuration", protected, "hoo", "rm .git/config"},
	{"git: change its configuration by a link", protected, "hoo", "ln .git/config n && echo x >> n"},
	{"git: move the hooks away", protected, "hoo", "mv .git/hooks .git/old"},
	{"git: remove the hooks", protected, "hoo", "rmdir .git/hooks"},
	{"git: move the repository away", protected, "hoo", "mv .git old"},
	{"git: exchange the repository", protected, "hoo", "mkdir n && mv -T .git o && mv -T n .git"},
	{"git: point to another configuration", protected, "hoo", "echo ../evil > .git/commondir"},
	{"git: say where modules come from", protected, "hoo", "echo x > .gitmodules"},
	// Deeper places can't be kept: they are for an overlay, or to be found afterwards.
	{"git: make a repository further down", deeper, "ooo", "mkdir n && cd n && git init -q && echo x > .git/hooks/pre-commit"},
	{"git: make a hook of a module", deeper, "ooo", "mkdir -p .git/modules/m/hooks && echo x > .git/modules/m/hooks/post-checkout"},
	{"git: plan a rebase that executes", deeper, "ooo", "mkdir .git/rebase-merge && echo exec x > .git/rebase-merge/git-rebase-todo"},
	{"make settings further down", deeper, "ooo", "mkdir n && echo {} > n/.mcp.json"},
	{"make a missing .mcp.json", protected, "hoo", "echo {} > .mcp.json"},
	{"make a missing .mcp.json in the place of what is there", protected, "hoo", "{ rm -rf .mcp.json || mv .mcp.json n; }; echo {} > .mcp.json"},
	{"make a missing .mcp.json by moving", protected, "hoo", "echo {} > n && mv -T n .mcp.json"},
	{"make a missing .mcp.json as a link", protected, "hoo", "echo {} > n && ln -s n .mcp.json && cat .mcp.json"},
	{"make a missing .envrc", protected, "hoo", "echo x > .envrc"},
	{"make a missing directory of settings", protected, "hoo", "mkdir -p .vscode && echo x > .vscode/tasks.json"},
	{"change settings that are there", protected, "hoo", "echo x >> .claude/settings.json"},
	{"add to settings that are there", protected, "hoo", "echo x > .claude/settings.local.json"},
	{"change settings by a link made before", protected, "hoo", "echo x >> earlier"},
	{"move settings away", protected, "hoo", "mv .claude n"},
	{"give settings other rights", protected, "hoo", "chmod 777 .claude"},
	{"write to a program of the policy", "writes outside the root, HOME and `write`", "hh-", ": >> PROGRAM"},
	{"make a user namespace by a tool", mounts, "hh-", "unshare -U true"},
	{"make a user and a network namespace by a tool", mounts, "hh-", "unshare -Urn true"},
	{"raise the limit of core dumps", `core dumps`, "hh-", "ulimit -c 1"},
	{"become root by a program that is", `setuid programs, file capabilities`, "hh-", `[ "$(./setuid -u)" = 0 ] && [ "$(id -u)" != 0 ]`},
	{"leave the home of the account as HOME", "the environment is what the policy says; no inherited descriptors; no terminal of anybody else: one of its own, where the policy says `pty`", "hhh", `[ "$HOME" = "$0" ]`},
	{"write to HOME", "", "ooo", `echo x > "$HOME/.x"`},
	{"know its directory", "", "ooo", `[ "$(pwd -P)" = "$(cd . && pwd)" ] && ls -la . > /dev/null`},
	{"use fifos and pipelines", "", "ooo", `mkfifo f && (seq 1000 > f &) && [ "$(sort -n f | uniq | tail -1 | tr -d '\n')" = 1000 ]`},
}

// Listed are the lines for a policy that has `exec: listed`: sh, find, cp, chmod, a
// script of the account, and what is below a directory are listed. LOADER is the
// dynamic loader, TRUE a copy of a program that isn't listed, SCRIPT and DIR what is.
var Listed = []Line{
	{"start what is listed", executes, "oo-", "find . -maxdepth 0 && cp victim copy && chmod 600 copy"},
	{"start a listed script", executes, "oo-", "SCRIPT victim"},
	{"start what reads a listed script", executes, "oo-", "head -c 1 victim"},
	{"start what lies in a listed directory", executes, "oo-", "DIR/true"},
	{"start a program of the system", executes, "hh-", "rm victim"},
	{"start it by a listed tool", executes, "hh-", "find . -name victim -exec rm {} ';'; [ -z \"$(find . -name victim)\" ]"},
	{"start a script that it wrote", executes, "hh-", "echo '#!/bin/sh' > s && chmod 755 s && ./s"},
	{"start a script whose interpreter is listed", executes, "hh-", "echo '#!/bin/sh' > \"$HOME/s\" && chmod 755 \"$HOME/s\" && \"$HOME/s\""},
	{"start a copy in the workspace", executes, "hh-", "cp TRUE t && ./t"},
	{"start a copy in HOME", executes, "hh-", "cp TRUE \"$HOME/t\" && \"$HOME/t\""},
	{"start a copy in /tmp", executes, "hh-", "cp TRUE /tmp/paddock-$$ && /tmp/paddock-$$; s=$?; find /tmp/paddock-$$ -delete; exit $s"},
	{"start a link to a program", executes, "hh-", "{ cp -l TRUE link || cp -s TRUE link; } && ./link"},
	{"load a copy in the workspace", executes, "ho-", "cp TRUE t && LOADER ./t"},
	{"load a copy in HOME", executes, "ho-", "cp TRUE \"$HOME/t\" && LOADER \"$HOME/t\""},
	{"load a copy in /tmp", executes, "ho-", "cp TRUE /tmp/paddock-$$ && LOADER /tmp/paddock-$$; s=$?; find /tmp/paddock-$$ -delete; exit $s"},
	{"load a copy in /dev/shm", executes, "hh-", "cp TRUE /dev/shm/paddock-$$ && LOADER /dev/shm/paddock-$$"},
	{"load a program of the system", executes, "ho-", "LOADER /bin/true"},
	{"write to what is listed", executes, "hh-", ": >> DIR/true || : >> SCRIPT"},
}
