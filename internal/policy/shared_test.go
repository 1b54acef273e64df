package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// What is used again for the next decision belongs to none before it: decisions in any
// order are those of who has nothing to use again, and stay as they were when they are
// kept, whoever decides beside them.
func TestDecisionsShareNothing(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(large("rules:\n  - {name: a, ask: 'argv.exists(a, a == \"-v\")'}\n"+
		"  - {name: b, deny: '\"CI\" in env && principal == \"agent-2\"'}\n  - {name: c, deny: 'argv[2] == \"boom\"'}\n"),
		"    args:\n", "    args:\n      - {allow: [run], flags: {-o: <path>}, rest: <path>...}\n", 1))
	type asked struct {
		paddock.Request
		facts policy.Facts
	}
	var requests []asked
	add := func(r paddock.Request, change func(*policy.Facts)) {
		f := friendly(p, r)
		change(&f)
		requests = append(requests, asked{r, f})
	}
	as := func(f *policy.Facts) {}
	in := ask("go", "test", "./...")
	in.Command.Env = map[string]string{"CI": "true"}
	add(in, as)
	in.Principal.ID = "agent-2"
	add(in, as)
	replaced := paddock.Request{Principal: paddock.Principal{Kind: paddock.Host, ID: "h"}, Door: paddock.DoorGo,
		Command: paddock.Command{Argv: []string{"tool9"}, ReplaceEnv: map[string]string{"B": "2", "A": "1"}}}
	add(replaced, as)
	for _, argv := range [][]string{{"go", "test", "-exec", "sh"}, {"tool7", "x"}, {"tool7", "x", "boom"}, {"nope"}, {}, {"go", "run", "-o", "a", "b"}} {
		add(ask(argv...), as)
	}
	add(ask("go", "test", "-v"), as)
	add(ask("go", "test", "-v"), func(f *policy.Facts) { f.Approved = true })
	add(ask("go", "run", "-o", "a", "b"), func(f *policy.Facts) { f.Paths = map[string]policy.PathFacts{"a": {Real: "/a"}, "b": {Inside: true}} })
	add(ask("tool7", "x"), func(f *policy.Facts) { f.HostEnv = map[string]string{"LANG": "C"} })
	add(ask("tool7", "x"), func(f *policy.Facts) { f.Dir = policy.DirFacts{} })
	said := func(d paddock.Decision) string {
		text, err := json.Marshal(d)
		if err != nil {
			t.Error(err)
		}
		if d.Grant() != nil {
			for _, v := range d.Grant().Environment {
				text = append(text, "\n"+v...)
			}
		}
		return string(text)
	}
	var want []string
	for _, r := range requests {
		runtime.GC() // of which two forget whatever could be used again
		runtime.GC()
		want = append(want, said(policy.Decide(p, r.Request, r.facts)))
	}
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			var kept []paddock.Decision
			order, in := []int{}, rand.New(rand.NewPCG(seed, 1))
			for range 500 {
				i := in.IntN(len(requests))
				order = append(order, i)
				kept = append(kept, policy.Decide(p, requests[i].Request, requests[i].facts))
			}
			for k, i := range order {
				if got := said(kept[k]); got != want[i] {
					t.Errorf("%v was decided\n%s\nand is now\n%s", requests[i].Command.Argv, want[i], got)
					return
				}
			}
		})
	}
	all.Wait()
}
