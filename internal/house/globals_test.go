package house_test

import (
	"testing"

	"paddock/internal/house/globals"
)

func TestGlobals(t *testing.T) {
	t.Parallel()
	file := func(text string) map[string]string {
		return map[string]string{
			"internal/app/a.go": "package app\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\n" + text,
			"internal/app/b.go": "package app\n\nvar kept [][]byte\n\nvar known = map[string]int{}\n",
		}
	}
	try(t, globals.Find, []violation{
		{"appended to", file("func text(b []byte) { kept = append(kept, b) }"), "text writes to kept"},
		{"a part of it", file("func text() { known[\"a\"] = 1 }"), "text writes to known"},
		{"counted", file("func text() { known[\"a\"]++ }"), "text writes to known"},
		{"in a function inside", file("func text() func() { return func() { kept = nil } }"), "text writes to kept"},
		{"of the same file", file("var n int\n\nfunc text() { n = 1 }"), "text writes to n"},
		{"locked", file("func text(b []byte) { mu.Lock(); defer mu.Unlock(); kept = append(kept, b) }"), ""},
		{"before anybody else", file("func init() { kept = nil }"), ""},
		{"one's own", file("func text() { kept := [][]byte{}; kept = nil; _ = kept }"), ""},
		{"given", file("func text(kept [][]byte) { kept[0] = nil }"), ""},
		{"a test's", map[string]string{"internal/app/a_test.go": "package app\n\nvar n int\n\nfunc text() { n = 1 }"}, ""},
	})
}
