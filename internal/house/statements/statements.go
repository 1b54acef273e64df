// Package statements holds code to SQL that stands in it, with values bound.
//
// # Limits
//
// It looks at names, not at types, and in files that import a package for
// databases, or are generated. What is in a constant, sqlc and the database judge.
package statements

import (
	"go/ast"
	"go/token"
	"slices"

	"paddock/internal/house/source"
)

// askers are the packages whose values take SQL.
var askers = []string{"database/sql", "github.com/jackc/pgx", "paddock/internal/store/tables/prepared"}

// takers are the methods that do, with the place of the statement among their arguments.
var takers = map[string]int{
	"Exec": 0, "Query": 0, "QueryRow": 0, "Prepare": 0,
	"ExecContext": 1, "QueryContext": 1, "QueryRowContext": 1, "PrepareContext": 1,
}

// Find finds SQL that isn't a constant: values are bound, never written into a
// statement. Methods of pgx's own take a context first, so the statement is looked
// for in both places.
func Find(t *source.Tree) []source.Finding {
	var found []source.Finding
	for _, f := range t.Files {
		if f.Test || !slices.ContainsFunc(f.AST.Imports, func(s *ast.ImportSpec) bool { return source.WithinAny(source.ImportPath(s), askers) }) && !f.Generated {
			continue
		}
		constants := constantsOf(f)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			at, takes := takers[sel.Sel.Name]
			if !takes || len(call.Args) <= at {
				return true
			}
			if at == 0 && len(call.Args) > 1 && !fixed(call.Args[0], constants) {
				at = 1
			}
			if !fixed(call.Args[at], constants) {
				found = append(found, source.Found("statements", t.Where(call.Args[at].Pos()),
					"%s is given SQL that isn't a constant; write a query in internal/store/tables/queries, and bind its values", sel.Sel.Name))
			}
			return true
		})
	}
	return found
}

// fixed reports whether an expression is a string that stands in the code.
func fixed(e ast.Expr, constants map[string]bool) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.Ident:
		return constants[e.Name]
	case *ast.ParenExpr:
		return fixed(e.X, constants)
	}
	return false
}

// constantsOf are the constants of the file's package level that are literals.
func constantsOf(f *source.File) map[string]bool {
	all := map[string]bool{}
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range v.Names {
				if i < len(v.Values) && fixed(v.Values[i], nil) {
					all[name.Name] = true
				}
			}
		}
	}
	return all
}
