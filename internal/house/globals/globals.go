// Package globals finds variables of a package that its functions write to.
//
// # Limits
//
// It sees assignments, and not what a pointer, a method or another package
// writes. Whether the lock taken is the right one it doesn't know.
package globals

import (
	"go/ast"
	"go/token"

	"paddock/internal/house/source"
)

// Find finds functions that write to a variable of their package and take no
// lock: two goroutines may run them at once, and the race detector sees that
// only where a test does so. What init writes is there before anybody else.
func Find(t *source.Tree) []source.Finding {
	variables := map[string]map[string]bool{} // of each directory
	each := func(yield func(*source.File, ast.Decl)) {
		for _, f := range t.Files {
			if !f.Shipped() {
				continue
			}
			for _, d := range f.AST.Decls {
				yield(f, d)
			}
		}
	}
	each(func(f *source.File, d ast.Decl) {
		if variables[f.Dir] == nil {
			variables[f.Dir] = map[string]bool{}
		}
		if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.VAR {
			for _, s := range group.Specs {
				for _, name := range s.(*ast.ValueSpec).Names { //nolint:errcheck // of variables there is nothing else
					variables[f.Dir][name.Name] = true
				}
			}
		}
	})
	var found []source.Finding
	each(func(f *source.File, d ast.Decl) {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "init" || locks(fn.Body) {
			return
		}
		writes(fn.Body, func(id *ast.Ident) {
			if id.Name != "_" && variables[f.Dir][id.Name] && ofPackage(f, id) {
				found = append(found, source.Found("globals", t.Where(id.Pos()),
					"%s writes to %s, which belongs to the whole package, without a lock; keep it in a value, or lock it", fn.Name.Name, id.Name))
			}
		})
	})
	return found
}

// ofPackage reports whether id names something of its package: either the
// parser didn't find it in its file, or it found it outside of all functions.
func ofPackage(f *source.File, id *ast.Ident) bool {
	return id.Obj == nil || f.AST.Scope.Lookup(id.Name) == id.Obj
}

// locks reports whether something in body is locked.
func locks(body ast.Node) (yes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if member, ok := call.Fun.(*ast.SelectorExpr); ok && member.Sel.Name == "Lock" {
				yes = true
			}
		}
		return !yes
	})
	return yes
}

// writes yields what assignments in body write to, or to a part of.
func writes(body ast.Node, yield func(*ast.Ident)) {
	target := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.Ident:
				yield(x)
				return
			default:
				return
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				for _, left := range x.Lhs {
					target(left)
				}
			}
		case *ast.IncDecStmt:
			target(x.X)
		}
		return true
	})
}
