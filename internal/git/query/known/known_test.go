package known

import (
	"regexp"
	"strings"
	"testing"

	"paddock/internal/git/query"
)

// Whatever a revision says, what is made of it is an id with steps behind, or nothing: the rest of
// it went to who says what names stand for.
func TestWordsAreIDsWithSteps(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("1", 40)
	form := regexp.MustCompile(`^1{40}([~^][0-9]*)*$`)
	for ref, base := range map[string]string{
		"HEAD~2": "HEAD", "main^^2~": "main", "v1": "v1", "HEAD~2^{commit}": "HEAD~2^{commit}", "a~b": "a~b", "~2": "", "HEAD~1234567": "HEAD~1234567", "x:y~1": "x:y",
		"--output=x~1": "--output=x", "a..b^": "a..b", "main@{1}~2": "main@{1}",
	} {
		var asked []string
		say := func(name string, whole bool) string {
			asked = append(asked, name)
			if whole || name != base {
				return ""
			}
			return id
		}
		q := query.Diff{Base: ref, Head: ref}
		words := Steps(q, say)
		if len(words) != 2 || !form.MatchString(words[0]) || words[0] != id+strings.TrimPrefix(ref, base) || asked[0] != base {
			t.Errorf("%q is %q; asked was %q", ref, words, asked)
		}
		if words := Steps(q, func(string, bool) string { return "" }); words != nil {
			t.Errorf("%q, which is nothing, is %q", ref, words)
		}
		if words := Steps(query.Cat{Ref: ref, In: "a"}, say); words != nil {
			t.Errorf("of a file %q is %q", ref, words)
		}
	}
	if words := Steps(query.Status{}, nil); words != nil {
		t.Errorf("of nothing: %q", words)
	}
}
