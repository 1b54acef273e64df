package policy_test

import (
	"paddock"
	"paddock/internal/policy"
)

const minimal = `version: 1
roots:
  - path: /srv/checkout
executables:
  - name: go
    path: /usr/local/go/bin/go
    args:
      - allow: [test]
        flags: {-run: <word>, -count: <int>, -v: none, -race: none}
        rest: <package>...
      - allow: [vet, ./...]
      - deny: [run, ...]
        message: go run executes arbitrary code; use go vet or go test.
containment: {require: off}
`

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func load(t failer, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte(text))
	if err != nil {
		t.Fatalf("the policy doesn't load:\n%v", err)
	}
	return p
}

func ask(argv ...string) paddock.Request {
	return paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Agent, ID: "agent-1"},
		Door:      paddock.DoorMCP,
		Command:   paddock.Command{Argv: argv},
	}
}

// friendly are facts under which everything is there and safe.
func friendly(p *policy.Policy, req paddock.Request) policy.Facts {
	f := policy.Facts{
		Executable: policy.ExecutableFacts{Found: true},
		Paths:      map[string]policy.PathFacts{},
		Stdin:      policy.StdinFacts{Checked: true},
		HostEnv:    map[string]string{},
		Home:       "/var/lib/paddock/homes/h1",
		Levels:     []paddock.Level{paddock.Off},
	}
	if roots := p.Roots(); len(roots) > 0 {
		f.Dir = policy.DirFacts{Found: true, Real: roots[0], Root: roots[0]}
	}
	for _, w := range p.Wanted(req).Paths {
		f.Paths[w] = policy.PathFacts{Real: "/srv/checkout/" + w, Inside: true}
	}
	return f
}

const defaultTimeout = paddock.Duration(120_000_000_000)
