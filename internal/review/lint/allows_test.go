package lint_test

import (
	"paddock"
	"paddock/internal/policy"
)

// allows asks the judge, on a machine where everything is as it should be.
func allows(text string, argv []string) bool {
	p, err := policy.Load("p.yaml", []byte(text))
	if err != nil {
		return false
	}
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "a"}, Door: paddock.DoorCLI, Command: paddock.Command{Argv: argv}}
	facts := policy.Facts{
		Executable: policy.ExecutableFacts{Found: true},
		Dir:        policy.DirFacts{Found: true, Real: p.Roots()[0], Root: p.Roots()[0]},
		Paths:      map[string]policy.PathFacts{},
		Levels:     []paddock.Level{paddock.Off, paddock.Standard, paddock.Full},
	}
	for _, w := range p.Wanted(req).Paths {
		facts.Paths[w] = policy.PathFacts{Real: w, Inside: true}
	}
	return policy.Decide(p, req, facts).Effect == paddock.Allow
}
