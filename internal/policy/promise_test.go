package policy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/known/secret"
)

const promising = `version: 1
roots: [{path: /srv/checkout}]
executables:
  - {name: go, path: /usr/local/go/bin/go, args: any, network: ["go.dev:443"], environment: {set: {B: "2"}}}
environment: {set: {A: "1"}, pass: [LANG], accept: {CI: <word>}}
secrets: {token: {file: /etc/token, inject: {host: go.dev, header: Authorization}}}
containment: {require: full, network: allowlist, read: [/opt/a, /opt/b], write: [/opt/c]}
`

// promised is a request that is allowed, with all that it can be about.
func promised(t *testing.T) (*policy.Policy, paddock.Request, policy.Facts) {
	p := load(t, promising)
	req := ask("go", "build")
	req.Command.Env = map[string]string{"CI": "yes"}
	req.Command.Timeout = paddock.Duration(7e9)
	facts := friendly(p, req)
	facts.Levels = []paddock.Level{paddock.Full}
	facts.HostEnv = map[string]string{"LANG": "C"}
	facts.Executable.Interpreters = []paddock.Interpreter{{Path: "/bin/sh"}}
	facts.Account = &paddock.Account{UID: 7, GID: 8}
	facts.Secrets = map[string]secret.Facts{"token": {Found: true}}
	return p, req, facts
}

func whole(t *testing.T, d paddock.Decision) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil || d.Grant() == nil {
		t.Fatalf("%+v: %v", d.Refusals, err)
	}
	for _, v := range d.Grant().Environment {
		text = append(text, "\n"+v...)
	}
	return string(text)
}

// What is granted is what was decided, whatever becomes of the request and the facts
// before somebody asks for it.
func TestAGrantIsOfWhatWasDecided(t *testing.T) {
	t.Parallel()
	p, req, facts := promised(t)
	want := whole(t, policy.Decide(p, req, facts))
	d := policy.Decide(p, req, facts)
	req.Command.Argv[0], req.Command.Argv[1] = "changed", "changed"
	req.Command.Env["CI"], facts.HostEnv["LANG"] = "changed", "changed"
	facts.Executable.Interpreters[0].Path, facts.Account.UID = "/changed", 0
	if got := whole(t, d); got != want {
		t.Errorf("decided was\n%s\nand granted is\n%s", want, got)
	}
}

// Who changes a grant, all of it, changes no other decision by the same policy.
func TestAGrantIsNoPartOfThePolicy(t *testing.T) {
	t.Parallel()
	p, req, facts := promised(t)
	want := whole(t, policy.Decide(p, req, facts))
	d := policy.Decide(p, req, facts)
	g := reflect.ValueOf(d.Grant()).Elem()
	if changed := spoil(g); changed < 20 {
		t.Fatalf("only %d values were changed", changed)
	}
	if got := whole(t, d); got == want {
		t.Error("nothing was changed")
	}
	if got := whole(t, policy.Decide(p, req, facts)); got != want {
		t.Errorf("the next decision was\n%s\nand is\n%s", want, got)
	}
}

// spoil changes every text and number of v, and says how many.
func spoil(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "!")
		return 1
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
		return 1
	case reflect.Uint32:
		v.SetUint(v.Uint() + 1)
		return 1
	case reflect.Pointer:
		if !v.IsNil() {
			return spoil(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += spoil(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += spoil(v.Field(i))
		}
	}
	return n
}

// All who have a decision have the same grant, and read again it is the same.
func TestAGrantIsMadeOnce(t *testing.T) {
	t.Parallel()
	p, req, facts := promised(t)
	d := policy.Decide(p, req, facts)
	got := make([]*paddock.Grant, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { copied := d; got[i] = copied.Grant() })
	}
	all.Wait()
	if got[0] == nil || len(slices.Compact(got)) != 1 {
		t.Errorf("they have %v", got)
	}
	text, err := json.Marshal(d)
	var again paddock.Decision
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || again.Granted.Equal(d.Granted) {
		t.Errorf("variables were written down, or %v", err)
	}
	without := *d.Grant()
	without.Environment = nil
	for i := range without.Contain.Inject { // where a secret lies isn't written down, either
		i := &without.Contain.Inject[i]
		*i = paddock.Injection{Secret: i.Secret, Place: i.Place, Header: i.Header}
	}
	if !again.Granted.Equal(paddock.Gives(&without)) {
		t.Errorf("%+v\nis read again as\n%+v", without, again.Grant())
	}
	if !(paddock.Decision{}).Granted.IsZero() || paddock.Gives(nil) != (paddock.Granted{}) || (paddock.Decision{}).Grant() != nil {
		t.Error("nothing is something")
	}
}
