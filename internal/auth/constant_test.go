package auth_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// secret are names of what somebody shows, or of what it is held against.
var secret = regexp.MustCompile(`(?i)^(token|secret|code|password|digest|hash|mac|verifier|nonce|state|key|sum|word)$`)

// named is the last name of an expression that isn't a constant; empty otherwise.
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "nil" || e.Name == "true" || e.Name == "false" {
			return ""
		}
		return e.Name
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && of.Name == "paddock" { // a code of a refusal and the like
			return ""
		}
		return e.Sel.Name
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.SliceExpr:
		return named(e.X)
	case *ast.ParenExpr:
		return named(e.X)
	case *ast.CallExpr:
		f := named(e.Fun)
		if f == "len" {
			return ""
		}
		if len(e.Args) == 1 && named(e.Args[0]) != "" { // a conversion
			return named(e.Args[0])
		}
		return f
	}
	return ""
}

// TestConstantTime has nothing that somebody shows compared byte by byte, which takes longer
// the more of it is right: neither by == nor by bytes.Equal, where credentials are looked at.
func TestConstantTime(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, dir := range []string{".", "../httpapi/entry/gate", "../control"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				return err
			}
			looked++
			ast.Inspect(f, func(n ast.Node) bool {
				var x, y ast.Expr
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op != token.EQL && n.Op != token.NEQ {
						return true
					}
					x, y = n.X, n.Y
				case *ast.CallExpr:
					s, ok := n.Fun.(*ast.SelectorExpr)
					if !ok || len(n.Args) != 2 || s.Sel.Name != "Equal" && s.Sel.Name != "EqualFold" && s.Sel.Name != "Compare" {
						return true
					}
					x, y = n.Args[0], n.Args[1]
				default:
					return true
				}
				a, b := named(x), named(y)
				if a == "" || b == "" || !secret.MatchString(a) && !secret.MatchString(b) {
					return true
				}
				t.Errorf("%s: %s and %s are compared in a time that tells how much of one is right; use crypto/subtle", files.Position(n.Pos()), a, b)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 40 {
		t.Errorf("only %d files were looked at", looked)
	}
}
