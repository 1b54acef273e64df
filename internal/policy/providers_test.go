package policy_test

import (
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/known/secret"
)

const provided = `version: 1
roots: [{path: /srv/checkout}]
executables:
  - {name: gh, path: /usr/bin/gh, args: any}
git: {executable: /usr/bin/git}
secrets:
  GH_TOKEN: {exec: [/opt/say, "-x", "<word>", "a b"], timeout: 5s, cache: 1m, network: [v.example.org:8200], read: [/etc/say], environment: {set: {HOME: /home/me}}, env_for: [gh]}
rules: [{name: none, deny: "true"}]
`

func provider(t *testing.T, p *policy.Policy) (*policy.Policy, paddock.Request) {
	t.Helper()
	req := ask("/opt/say", "-x", "<word>", "a b")
	req.Room, req.Principal, req.Command.Dir = paddock.SecretRoom+"GH_TOKEN", paddock.Principal{Kind: paddock.Operator, ID: "secrets"}, ""
	of := p.For(req.Room)
	if of == nil {
		t.Fatal("nothing judges it")
	}
	return of, req
}

func providerFacts(p *policy.Policy, req paddock.Request) policy.Facts {
	facts := friendly(p, req)
	facts.Levels = []paddock.Level{paddock.Full}
	facts.Dir = policy.DirFacts{Found: true, Real: "/usr/share", Root: "/usr/share"}
	facts.Home = ""
	return facts
}

// A provider is judged in its own room, by what stands beside it, and by nothing that
// is about callers.
func TestProvidersAreJudged(t *testing.T) {
	t.Parallel()
	p := load(t, provided)
	of, req := provider(t, p)
	d := policy.Decide(of, req, providerFacts(of, req))
	if d.Effect != paddock.Allow {
		t.Fatal(d.Refusal())
	}
	g := d.Grant()
	if g.Redact != paddock.Unkept || len(g.Secrets) != 0 || g.Limits.Output != 8194 || g.Limits.Timeout.String() != "5s" || g.Contain.Network != "allowlist" || !g.Contain.ReadOnly ||
		strings.Join(g.Contain.Reach, " ") != "v.example.org:8200" || strings.Join(g.Contain.Read, " ") != "/etc/say" || strings.Join(g.Contain.Write, " ") != "" || g.Root != "/usr/share" {
		t.Errorf("%+v", g)
	}
	for _, v := range g.Environment {
		if name, _, _ := strings.Cut(v, "="); name == "HOME" && v != "HOME=/home/me" {
			t.Error(v)
		}
	}
	if w := of.Wanted(req); len(w.Given)+len(w.Secrets) != 0 || w.Executable != "/opt/say" {
		t.Errorf("%+v", w)
	}
	// Nobody else gets to it, by no word and in no room.
	for _, room := range []string{"git", "delegate", paddock.SecretRoom, paddock.SecretRoom + "OTHER", "secret"} {
		if other := p.For(room); other != nil && policy.Decide(other, req, providerFacts(other, req)).Effect == paddock.Allow {
			t.Errorf("room %q starts it", room)
		}
	}
	plain := req
	plain.Room = ""
	if policy.Decide(p, plain, providerFacts(p, plain)).Effect == paddock.Allow {
		t.Error("a caller starts it")
	}
	if p.ProvidersRoots() == nil || load(t, "version: 1\nroots: [{path: /srv}]\nexecutables: []\n").ProvidersRoots() != nil {
		t.Error("whose runs are kept how long isn't known")
	}
}

// Until somebody asked, nothing stands against a request but what is known already.
func TestAskedLater(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(provided, `"true"`, `"false"`, 1))
	req := ask("gh")
	facts := friendly(p, req)
	facts.Levels, facts.Secrets = []paddock.Level{paddock.Full}, map[string]secret.Facts{"GH_TOKEN": {Asked: true}}
	d := policy.Decide(p, req, facts)
	if d.Effect != paddock.Allow || d.Grant().Secrets[0] != "GH_TOKEN" {
		t.Fatal(d.Refusal())
	}
	facts.Secrets["GH_TOKEN"] = secret.Facts{Problem: "its provider ended with exit status 3"}
	if r := policy.Decide(p, req, facts).Refusal(); r == nil || r.Code != paddock.SecretUnavailable {
		t.Error(r)
	}
	given := p.Wanted(req).Given
	if len(given) != 1 || given[0].File != "" || given[0].Provider == nil || len(given[0].Provider.Argv) != 4 || given[0].Provider.Cache.String() != "1m0s" {
		t.Errorf("%+v", given)
	}
}

// What narrows a policy narrows who says its secrets.
func TestProvidersAreNarrowed(t *testing.T) {
	t.Parallel()
	list := "version: 1\nexecutables: "
	for name, c := range map[string]struct {
		floor string
		code  paddock.Code
	}{
		"silent":             {"version: 1\n", ""},
		"lists it":           {list + "[{path: /opt/say, args: any, network: ['*.example.org:8200']}]\ncontainment: {network: allowlist}\n", ""},
		"lists others":       {list + "[{name: gh, path: /usr/bin/gh, args: any}]\n", paddock.ExecutableNotAllowed},
		"lists another":      {list + "[{name: say, path: /opt/other, args: any}]\n", paddock.ExecutableNotAllowed},
		"with other words":   {list + "[{path: /opt/say, args: [{allow: [-y]}]}]\n", paddock.ArgumentsNotAllowed},
		"denies it":          {"version: 1\nrules: [{name: r, deny: 'path == \"/opt/say\"'}]\n", paddock.RuleDenied},
		"asks":               {"version: 1\nrules: [{name: r, ask: 'path == \"/opt/say\"'}]\n", paddock.ApprovalRequired},
		"for some who ask":   {"version: 1\nprincipals: [{kind: operator, narrow: {executables: []}}]\n", paddock.ExecutableNotAllowed},
		"for others who ask": {"version: 1\nprincipals: [{kind: agent, narrow: {executables: []}}]\n", ""},
	} {
		p, err := policy.Load("p.yaml", []byte(provided), policy.Source{Name: "/etc/floor.yaml", Data: []byte(c.floor), Floor: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of, req := provider(t, p)
		d := policy.Decide(of, req, providerFacts(of, req))
		if r := d.Refusal(); (r == nil) != (c.code == "") || r != nil && r.Code != c.code {
			t.Errorf("%s: %v, want %q", name, r, c.code)
		}
	}
	for name, c := range map[string]struct{ floor, want string }{
		"no network": {"version: 1\ncontainment: {network: none}\n", "none"},
	} {
		p, err := policy.Load("p.yaml", []byte(provided), policy.Source{Name: "/etc/floor.yaml", Data: []byte(c.floor), Floor: true})
		if err != nil {
			t.Fatal(err)
		}
		of, req := provider(t, p)
		if d := policy.Decide(of, req, providerFacts(of, req)); d.Grant() == nil || d.Grant().Contain.Network != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestProviderFaults(t *testing.T) {
	t.Parallel()
	with := func(secret, rest string) string {
		return "version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /x, args: any}]\nsecrets: {A: {" + secret + ", env_for: [/x]}}\n" + rest
	}
	for name, c := range map[string]struct{ text, want string }{
		"both":             {with("file: /s, exec: [/say]", ""), "want exactly one of `file`, `exec`"},
		"no words":         {with("exec: []", ""), "want a list of at least one item"},
		"a string":         {with("exec: /say", ""), "want a list"},
		"relative":         {with("exec: [say]", ""), "want the absolute path of a program first"},
		"the root":         {with("exec: [/]", ""), "want the absolute path of a program first"},
		"unclean":          {with("exec: [/a/../say]", ""), "write this path as /say"},
		"empty":            {with("exec: ['']", ""), "want the absolute path of a program first"},
		"a NUL":            {with(`exec: [/say, "a\0b"]`, ""), "without NUL"},
		"in a root":        {with("exec: [/srv/say]", ""), "lies inside /srv, which programs can change"},
		"where they write": {with("exec: [/data/say]", "containment: {write: [/data]}\n"), "lies inside /data, which programs can change"},
		"pin of a file":    {with("file: /s, sha256: '"+strings.Repeat("a", 64)+"'", ""), "`sha256`"},
		"cache of a file":  {with("file: /s, cache: 1m", ""), "`cache`"},
		"a bad cache":      {with("exec: [/say], cache: soon", ""), "want a duration"},
		"a bad place":      {with("exec: [/say], network: [a.org]", ""), "want host:port"},
		"a secret set":     {with("exec: [/say], environment: {set: {API_TOKEN: x}}", ""), "looks like a secret"},
		"accepts":          {with("exec: [/say], environment: {accept: {A: <word>}}", ""), "accept"},
		"reads at off":     {with("exec: [/say], read: [/y]", "containment: {require: off}\n"), "`read` would promise what isn't kept"},
		"reaches at off":   {with("exec: [/say], network: ['a.org:1']", "containment: {require: off}\n"), "only `require: full` gives a program a network of its own"},
		"twice":            {with("exec: [/say], exec: [/say]", ""), "exec"},
	} {
		_, err := policy.Load("p.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, c.text)
		}
	}
	load(t, with("exec: [/say, '']", ""))
}

// What the policy pins is held to where it says secrets, too: an interpreter that
// a provider's script leads to.
func TestProvidersAreHeldToPins(t *testing.T) {
	t.Parallel()
	pin := strings.Repeat("ab", 32)
	p := load(t, "version: 1\nroots: [{path: /srv}]\nexecutables: [{name: sh, path: /bin/sh, args: any, sha256: "+pin+"}]\nsecrets: {A: {exec: [/say], env_for: [sh]}}\n")
	w := p.For(paddock.SecretRoom + "A").Wanted(paddock.Request{Command: paddock.Command{Argv: []string{"/say"}}})
	if w.Executable != "/say" || w.Pinned || string(w.Pins["/bin/sh"]) != "sha256:"+pin {
		t.Errorf("%+v", w)
	}
}

// Agents that get tasks get secrets as other programs do.
func TestSecretsOfDelegates(t *testing.T) {
	t.Parallel()
	p := load(t, `version: 1
roots: [{path: /srv/checkout}]
executables: []
launch: {agents: true}
delegates: {providers: {claude: {path: /usr/bin/claude, network: ["api.example.org:443"]}}}
containment: {network: allowlist}
secrets:
  KEY: {exec: [/opt/say], env_for: [claude]}
  API: {exec: [/opt/say], inject: {host: api.example.org, header: X-Key}}
`)
	room := p.For("delegate")
	req := ask("claude", "x")
	req.Room = "delegate"
	facts := friendly(room, req)
	facts.Levels, facts.Secrets = []paddock.Level{paddock.Full}, map[string]secret.Facts{"KEY": {Asked: true}, "API": {Asked: true}}
	d := policy.Decide(room, req, facts)
	if d.Effect != paddock.Allow || strings.Join(d.Grant().Secrets, " ") != "KEY" || len(d.Grant().Contain.Inject) != 1 {
		t.Errorf("%v, %+v", d.Refusal(), d.Grant())
	}
	if of := p.For(paddock.SecretRoom + "API"); of == nil {
		t.Error("nothing judges who says it")
	}
}
