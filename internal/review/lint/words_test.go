package lint

import "testing"

func TestArticle(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"shell": "a shell", "interpreter": "an interpreter"} {
		if got := article(kind); got != want {
			t.Errorf("%q", got)
		}
	}
}
