package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"paddock/internal/house/source"
)

// Purity finds what would let the floors that decide look at the world: imports
// that reach a disk, a network or the system, and members that read a clock.
func Purity(t *source.Tree) []Finding {
	var found []Finding
	pure := func(f *source.File) bool {
		_, floor, ok := room(f.Dir)
		return ok && floor >= 0 && floor <= pureUpTo && f.Shipped()
	}
	t.EachImport(func(f *source.File, target string, at token.Pos) {
		if pure(f) && source.WithinAny(target, impure) {
			found = append(found, source.Found("purity", t.Where(at),
				"imports %s; floors 0 to 1.25 only compute, so take what you need as a value", target))
		}
	})
	for _, f := range t.Files {
		if !pure(f) {
			continue
		}
		f.Uses(func(pkg, member string, at token.Pos) {
			if slices.Contains(impureMembers[pkg], member) {
				found = append(found, source.Found("purity", t.Where(at),
					"uses %s.%s; floors 0 to 1.25 only compute, so take what you need as a value", pkg, member))
			}
		})
	}
	return found
}

// Members finds uses of members that memberRules forbid, and the builtin print.
func Members(t *source.Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		f.Uses(func(pkg, member string, at token.Pos) {
			for _, r := range memberRules {
				if r.pkg != pkg || !slices.Contains(r.members, member) || source.WithinAny(f.Dir, r.in) {
					continue
				}
				if f.Test && (r.inTests || !alsoInTests[pkg+"."+member] || f.ImportsPath("testing/synctest")) {
					continue // in a synctest bubble time passes without waiting
				}
				found = append(found, source.Found("members", t.Where(at), "%s.%s: %s", pkg, member, r.why))
			}
		})
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Obj == nil && (id.Name == "print" || id.Name == "println") {
				found = append(found, source.Found("members", t.Where(id.Pos()), "the builtin print is for debugging; remove it"))
			}
			return true
		})
	}
	return found
}

// Comments finds packages that don't have exactly one package comment, package
// comments that don't begin with the package's name, and rooms that don't say
// on their door what they will not do.
func Comments(t *source.Tree) []Finding {
	var found []Finding
	for _, dir := range t.Dirs((*source.File).Shipped) {
		var comments []string
		name := ""
		for _, f := range t.Files {
			if f.Dir != dir || !f.Shipped() {
				continue
			}
			name = f.AST.Name.Name
			if text := f.AST.Doc.Text(); text != "" {
				comments = append(comments, text)
			}
		}
		if len(comments) != 1 {
			found = append(found, source.Found("comments", dir, "has %d package comments; write exactly one", len(comments)))
			continue
		}
		if name != "main" && !strings.HasPrefix(comments[0], "Package "+name+" ") {
			found = append(found, source.Found("comments", dir, "its comment must begin with %q", "Package "+name))
		}
		if name != "main" && !regexp.MustCompile(`(?m)^# Limits$`).MatchString(comments[0]) {
			found = append(found, source.Found("comments", dir, "its comment has no \"# Limits\": say what the package does not do, and who does"))
		}
	}
	return found
}

// Sizes finds files, functions and packages that have outgrown one idea. Tests
// and generated files may be long.
func Sizes(t *source.Tree) []Finding {
	var found []Finding
	lines := map[string]int{}
	for _, f := range t.Files {
		if f.Test || f.Generated || f.Script {
			continue
		}
		lines[f.Dir] += f.Lines
		if f.Lines > maxFile {
			found = append(found, source.Found("size", f.Path, "%d lines, more than %d; find the second idea inside", f.Lines, maxFile))
		}
		found = append(found, longFuncs(t, f)...)
	}
	for _, dir := range t.Dirs(func(f *source.File) bool { return lines[f.Dir] > maxPackage }) {
		found = append(found, source.Found("size", dir, "%d lines in the package, more than %d; find the second idea inside", lines[dir], maxPackage))
	}
	return found
}

func longFuncs(t *source.Tree, f *source.File) []Finding {
	var found []Finding
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		n := t.Position(fn.End()).Line - t.Position(fn.Pos()).Line + 1
		rule := "size"
		if n > maxFuncHard {
			rule = "size-hard" // no exception may name this rule
		}
		if n > maxFunc {
			found = append(found, source.Found(rule, f.Path+":"+fn.Name.Name,
				"%d lines in one function, more than %d (and %d at the very most)", n, maxFunc, maxFuncHard))
		}
	}
	return found
}

var lineSuffix = regexp.MustCompile(`:[0-9]+$`)

// place strips the line number of a finding's place, so that exceptions don't
// go stale with every edit.
func place(where string) string { return lineSuffix.ReplaceAllString(where, "") }
