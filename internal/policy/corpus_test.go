package policy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// A hostile request is one that no author of the policy would expect to be allowed.
type hostile struct {
	Class  string            `json:"class"`
	Policy string            `json:"policy"`
	Argv   []string          `json:"argv"`
	Env    map[string]string `json:"env"`
	Dir    string            `json:"dir"`
	// Times repeats the last word, Long makes it so many bytes long.
	Times int `json:"times"`
	Long  int `json:"long"`
	// Code is why it must be refused; empty for what only looks hostile, and then
	// Reason says why whoever wrote the policy expects it to be allowed.
	Code   paddock.Code `json:"code"`
	Reason string       `json:"reason"`
}

// unreasoned says what is wrong with what h says it must come to: allowing something
// that looks hostile takes a reason of its own, and refusing it takes none.
func (h hostile) unreasoned() string {
	switch {
	case h.Code != "" && h.Reason != "":
		return "it is refused by its code, and has a reason to be allowed"
	case h.Code == "" && len(strings.Fields(h.Reason)) < 5:
		return "it is to be allowed, and no reason says why its policy's author expects that"
	case h.Code == "" && h.Class != "file-names":
		return "only names of files may look hostile and be allowed"
	}
	return ""
}

// A line that is to be allowed can't slip in.
func TestHostileRequestsNeedAReason(t *testing.T) {
	const why = "no shell expands the word: it is the name of a file"
	for _, it := range []struct {
		h   hostile
		bad bool
	}{
		{hostile{Class: "file-names", Reason: why}, false},
		{hostile{Class: "prefix", Code: paddock.ExecutableNotAllowed}, false},
		{hostile{Class: "file-names"}, true},
		{hostile{Class: "file-names", Reason: "it is fine"}, true},
		{hostile{Class: "prefix", Reason: why}, true},
		{hostile{Class: "prefix", Code: paddock.ExecutableNotAllowed, Reason: why}, true},
	} {
		if problem := it.h.unreasoned(); (problem != "") != it.bad {
			t.Errorf("%+v: %q", it.h, problem)
		}
	}
}

// cookbook returns the policies of docs/cookbook.md by their headings.
func cookbook(t *testing.T) map[string]*policy.Policy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, "cookbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*policy.Policy{}
	for _, f := range regexp.MustCompile("(?ms)^## (\\S+)\n.*?^```yaml\n(.*?)^```").FindAllSubmatch(text, -1) {
		all[string(f[1])] = load(t, string(f[2]))
	}
	return all
}

// world are the facts of a machine where all is well, with a checkout in which the
// link `out` leads elsewhere.
func world(p *policy.Policy, req paddock.Request) policy.Facts {
	f := friendly(p, req)
	f.Levels, f.Held = []paddock.Level{paddock.Full}, []string{"memory", "processes", "cpus", "disk"}
	f.Secrets = nil
	if dir := req.Command.Dir; dir != "" {
		f.Dir = policy.DirFacts{Found: true, Real: dir}
	}
	for w := range f.Paths {
		real := w
		if !path.IsAbs(w) {
			real = path.Join("/srv/checkout", w)
		}
		real = path.Clean(real)
		inside := (real == "/srv/checkout" || strings.HasPrefix(real, "/srv/checkout/")) && !strings.HasPrefix(real, "/srv/checkout/out")
		f.Paths[w] = policy.PathFacts{Real: real, Inside: inside}
	}
	return f
}

// Every hostile request is refused, with the code that says why.
func TestHostileRequests(t *testing.T) {
	policies := cookbook(t)
	data, err := os.ReadFile("testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	classes, asked := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var h hostile
		strict := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&h); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if problem := h.unreasoned(); problem != "" {
			t.Errorf("%s: %s", problem, lines.Bytes())
		}
		p := policies[h.Policy]
		if p == nil {
			t.Fatalf("the cookbook has no policy %s", h.Policy)
		}
		classes[h.Class]++
		asked[h.Policy]++
		for range h.Times {
			h.Argv = append(h.Argv, "x")
		}
		if h.Long > 0 {
			h.Argv = append(h.Argv, strings.Repeat("x", h.Long))
		}
		req := ask(h.Argv...)
		req.Command.Env, req.Command.Dir = h.Env, h.Dir
		d := policy.Decide(p, req, world(p, req))
		switch r := d.Refusal(); {
		case h.Code == "":
			if d.Effect != paddock.Allow {
				t.Errorf("%s: %q only looks hostile, since %s; and is refused: %v", h.Policy, h.Argv, h.Reason, r)
			}
		case d.Effect == paddock.Allow:
			t.Errorf("ALLOWED by %s: %q %v %s", h.Policy, h.Argv, h.Env, h.Dir)
		case r.Code != h.Code:
			t.Errorf("%s: %q %v: refused with %s, want %s", h.Policy, h.Argv, h.Env, r.Code, h.Code)
		}
	}
	total := 0
	for _, n := range classes {
		total += n
	}
	if len(policies) < 10 || len(asked) != len(policies) || len(classes) < 8 || total < 1000 {
		t.Errorf("%d requests of %d policies, %d of them asked, by classes %v", total, len(policies), len(asked), classes)
	}
}

// What the cookbook's own tests demand is so, and something is allowed by each.
func TestCookbook(t *testing.T) {
	for name, p := range cookbook(t) {
		for _, test := range p.Tests() {
			req := ask(test.Argv...)
			if problem := test.Problem(policy.Decide(p, req, world(p, req))); problem != "" {
				t.Errorf("%s: %q: %s", name, test.Argv, problem)
			}
		}
		if len(p.Tests()) < 1 {
			t.Errorf("%s has no tests", name)
		}
	}
}
