package policy_test

import (
	"encoding/json"
	"sync"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// What is used again for the next decision belongs to none before it: decisions
// that were kept stay as they were, whoever decides beside them.
func TestDecisionsShareNothing(t *testing.T) {
	t.Parallel()
	p := load(t, large("rules: [{name: a, ask: 'argv.exists(a, a == \"-v\")'}]\n"))
	requests := []paddock.Request{
		ask("go", "test", "./..."), ask("go", "test", "-exec", "sh"), ask("go", "test", "-v"), ask("tool7", "x"), ask("nope"), ask(),
		{Principal: paddock.Principal{Kind: paddock.Host, ID: "h"}, Door: paddock.DoorGo,
			Command: paddock.Command{Argv: []string{"tool9"}, ReplaceEnv: map[string]string{"B": "2", "A": "1"}}},
	}
	requests[0].Command.Env = map[string]string{"CI": "true"}
	said := func(d paddock.Decision) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Error(err)
		}
		if d.Grant != nil {
			for _, v := range d.Grant.Environment {
				text = append(text, "\n"+v...)
			}
		}
		return string(text)
	}
	var want []string
	for _, r := range requests {
		want = append(want, said(policy.Decide(p, r, friendly(p, r))))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var kept []paddock.Decision
			for i := range 200 {
				r := requests[i%len(requests)]
				kept = append(kept, policy.Decide(p, r, friendly(p, r)))
			}
			for i, d := range kept {
				if got := said(d); got != want[i%len(want)] {
					t.Errorf("%v was decided\n%s\nand is now\n%s", requests[i%len(requests)].Command.Argv, want[i%len(want)], got)
					return
				}
			}
		})
	}
	all.Wait()
}
