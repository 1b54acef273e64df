// Package command has the words that stand before every question: git's own options,
// the settings that beat a repository's own, and the preparing questions.
//
// # Limits
//
// What a question says is made by package query: here it is a list of words that
// follow.
package command

import "strings"

// settings beat what a repository's own configuration says. Those that name a
// program are set to one that does nothing; those with a free name (filters, hooks) are
// set for each repository, see Command.
var settings = []string{
	"core.fsmonitor=false", "core.untrackedCache=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
	"core.pager=cat", "core.editor=/bin/false", "core.askPass=/bin/false", "core.sshCommand=/bin/false", "core.gitProxy=", "core.alternateRefsCommand=/bin/false",
	"core.quotePath=false", "core.warnAmbiguousRefs=false", "core.commitGraph=true", "core.multiPackIndex=true",
	"diff.external=", "diff.orderFile=/dev/null", "diff.noprefix=false", "diff.mnemonicPrefix=false", "diff.relative=false", "diff.suppressBlankEmpty=false",
	"diff.algorithm=default", "diff.indentHeuristic=true", "diff.renameLimit=1000", "diff.submodule=short", "diff.ignoreSubmodules=dirty", "diff.wsErrorHighlight=none",
	"log.showSignature=false", "log.mailmap=false", "log.follow=false", "log.showRoot=true", "log.decorate=false", "log.diffMerges=first-parent", "format.pretty=medium",
	"gpg.program=/bin/false", "gpg.ssh.program=/bin/false", "gpg.x509.program=/bin/false", "gpg.ssh.defaultKeyCommand=/bin/false",
	"mailmap.file=/dev/null", "mailmap.blob=", "blame.ignoreRevsFile=", "blame.showRoot=false", "blame.markIgnoredLines=false", "blame.markUnblamableLines=false",
	"credential.helper=", "protocol.allow=never", "submodule.recurse=false", "status.submoduleSummary=false", "uploadpack.packObjectsHook=",
	"grep.threads=1", "grep.patternType=default", "grep.fallbackToNoIndex=false", "status.showStash=false", "pack.threads=2",
	"core.bigFileThreshold=512m", "core.deltaBaseCacheLimit=96m", // which bound how much is held
	"hook.post-index-change.enabled=false", "hook.reference-transaction.enabled=false", "hook.pre-auto-gc.enabled=false",
	"color.ui=false", "color.diff=false", "i18n.logOutputEncoding=UTF-8", "help.autocorrect=never", "gc.auto=0", "maintenance.auto=false",
}

// A Place is where a repository lies, in absolute paths: its own files, and the top of its
// working tree.
type Place struct {
	Dir, Worktree string
	// Unmoved has git compare nothing of a file but its size and its time before it takes
	// it for the one that it knows.
	Unmoved bool
	// Writable has git make no index sparse, for which it would write trees.
	Writable bool
}

// own are git's own options: nothing is looked for, and nothing above the place
// is one.
func (p Place) own() []string {
	words := []string{"git", "--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--git-dir=" + p.Dir, "--work-tree=" + p.Worktree}
	for _, s := range settings {
		words = append(words, "-c", s)
	}
	if p.Unmoved {
		words = append(words, "-c", "core.checkStat=minimal")
	}
	if p.Writable {
		words = append(words, "-c", "index.sparse=false")
	}
	return words
}

// Command returns the whole command of which args are the words after git's own
// options. Drivers are what the repository's settings have under names of its choice, as
// "filter.lfs" and "hook.x": each is set to do nothing, by variables, so that a name can hold
// whatever it likes. (The setting that is to end all hooks of an event isn't in the first
// git that has them, and is ignored where something else has the event's name.)
func (p Place) Command(args, drivers []string) []string {
	words := p.own()
	for _, d := range drivers {
		keys := []string{"clean", "smudge", "process", "required"}
		if strings.HasPrefix(d, "hook.") {
			keys = []string{"enabled"} // which is false where it is empty
		}
		for _, key := range keys {
			words = append(words, "--config-env="+d+"."+key+"=EMPTY")
		}
	}
	return append(words, args...)
}

// Resolve returns the command that prints the id of the commit that ref names.
func (p Place) Resolve(ref string) []string {
	return append(p.own(), "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
}

// ResolveAll returns the command that prints the ids of the commits that refs name, one
// a line, and nothing of a ref that names none.
func (p Place) ResolveAll(refs []string) []string {
	words := append(p.own(), "rev-parse", "--revs-only", "--end-of-options")
	for _, ref := range refs {
		words = append(words, ref+"^{commit}")
	}
	return words
}

// Settings returns the command that lists the names of the repository's settings.
func (p Place) Settings() []string {
	return append(p.own(), "config", "--list", "--null", "--name-only")
}
