// Package promises has what is promised, a phrase a line, beside what fails where it
// isn't kept, and checks that all of that is there.
//
// # Limits
//
// That a test tries what its phrase says is for people to see; and what isn't in the
// files isn't missed here.
package promises

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const house = "../../"

// A proof is a test, a script or a page.
type proof struct{ kind, name string }

// missing says why there is no such proof; empty where there is.
func (p proof) missing(sources map[string]string) string {
	path := house + p.name
	switch p.kind {
	case "script":
		path = house + "testdata/script/" + p.name + ".txtar"
	case "page":
	case "test":
		dot := strings.LastIndexByte(p.name, '.')
		if dot < 0 {
			return "it names no package"
		}
		text, known := sources[p.name[:dot]]
		if !known {
			files, err := filepath.Glob(house + p.name[:dot] + "/*_test.go")
			if err != nil {
				return err.Error()
			}
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					return err.Error()
				}
				text += string(source)
			}
			sources[p.name[:dot]] = text
		}
		if !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(p.name[dot+1:]) + `\(`).MatchString(text) {
			return "there is no such test"
		}
		return ""
	default:
		return "it is of no known kind"
	}
	if _, err := os.Stat(path); err != nil {
		return err.Error()
	}
	return ""
}

func TestEveryPromiseHasAProof(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 1 {
		t.Fatal(files, err)
	}
	sources := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		phrase, proofs, seen := "", 1, map[string]bool{}
		next := func(line string) {
			if proofs == 0 {
				t.Errorf("%s: nothing proves that %s", file, phrase)
			}
			if seen[line] {
				t.Errorf("%s: %s is there twice", file, line)
			}
			phrase, proofs, seen[line] = line, 0, true
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case !strings.HasPrefix(line, "\t"):
				next(line)
			default:
				kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
				proofs++
				if why := (proof{kind, name}).missing(sources); why != "" {
					t.Errorf("%s: %s: %s %s: %s", file, phrase, kind, name, why)
				}
			}
		}
		next("")
		if len(seen) < 40 {
			t.Errorf("%s has only %d phrases", file, len(seen)-1)
		}
	}
}
