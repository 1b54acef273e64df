package paddock

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunIDsSortByTimeAndComeBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 12, 0, 0, 123_000_000, time.UTC)
	early, err := NewRunID(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	late, err := NewRunID(at.Add(time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	if early >= late {
		t.Errorf("%s isn't before %s", early, late)
	}
	if got := early.Time(); !got.Equal(at) {
		t.Errorf("time %v, want %v", got, at)
	}
	if got, err := ParseRunID(string(early)); err != nil || got != early {
		t.Errorf("parsed %q, %v", got, err)
	}
}

func TestRunIDGolden(t *testing.T) {
	t.Parallel()
	got, err := NewRunID(time.UnixMilli(1), bytes.NewReader(make([]byte, 10)))
	if err != nil || got != "r00000000010000000000000000" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := NewRunID(time.UnixMilli(1), strings.NewReader("short")); err == nil {
		t.Error("a short random source made an id")
	}
}

func TestRunIDRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	good, err := NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "r", string(good[1:]), string(good) + "0", strings.ToUpper(string(good)), "../" + string(good)[3:],
		"r8" + string(good[2:]), "r0" + strings.Repeat("u", 25), "r0" + strings.Repeat("\x00", 25), strings.Repeat("r", 10_000),
	} {
		if id, err := ParseRunID(bad); err == nil {
			t.Errorf("%.40q was accepted as %q", bad, id)
		}
		if !RunID(bad).Time().IsZero() {
			t.Errorf("%.40q has a time", bad)
		}
	}
}

func TestDigestForms(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("ab", 32)
	for _, text := range []string{hex, "sha256:" + hex, strings.ToUpper(hex)} {
		if d, err := ParseDigest(text); err != nil || d != Digest("sha256:"+hex) {
			t.Errorf("%q: %q, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "sha256:", hex[1:], hex + "00", "sha512:" + hex, strings.Repeat("zz", 32)} {
		if d, err := ParseDigest(text); err == nil {
			t.Errorf("%q was accepted as %q", text, d)
		}
	}
	if got := Digest("sha256:" + hex).Short(); got != hex[:12] {
		t.Errorf("short %q", got)
	}
}

func TestRequestDigestIsOfWhatWasAsked(t *testing.T) {
	t.Parallel()
	text := "x"
	base := func() Request {
		return Request{Principal: Principal{Agent, "a"}, Door: DoorMCP, Command: Command{
			Argv: []string{"go", "test"}, Env: map[string]string{"A": "1", "B": "2"}, Stdin: Stdin{Text: &text},
		}}
	}
	first := base().Digest()
	same := base()
	same.Door, same.IdempotencyKey, same.Tied = DoorCLI, "k", true
	if same.Digest() != first {
		t.Error("the door, the key or the tie changed the digest")
	}
	for name, change := range map[string]func(*Request){
		"principal":    func(r *Request) { r.Principal.ID = "b" },
		"kind":         func(r *Request) { r.Principal.Kind = Host },
		"word":         func(r *Request) { r.Command.Argv[1] = "vet" },
		"joined words": func(r *Request) { r.Command.Argv = []string{"go test"} },
		"directory":    func(r *Request) { r.Command.Dir = "/" },
		"variable":     func(r *Request) { r.Command.Env["A"] = "2" },
		"replaced env": func(r *Request) { r.Command.ReplaceEnv = map[string]string{} },
		"stdin":        func(r *Request) { empty := ""; r.Command.Stdin.Text = &empty },
		"timeout":      func(r *Request) { r.Command.Timeout = Duration(time.Second) },
		"output limit": func(r *Request) { r.Command.OutputLimit = 1 },
		"label":        func(r *Request) { r.Command.Label = "x" },
	} {
		r := base()
		change(&r)
		if r.Digest() == first {
			t.Errorf("another %s has the same digest", name)
		}
	}
	// Idempotency keys and, later, signatures outlive a release.
	const golden = "sha256:6fd4b5910a4245439f2702d34a57cf26d6242ff653cf06b8be4282d50d9753ec"
	if got := (Request{Principal: Principal{Operator, "o"}, Command: Command{Argv: []string{"true"}}}).Digest(); got != golden {
		t.Errorf("digest %s, want the golden %s: a change breaks stored keys", got, golden)
	}
}

func TestDurationsAreMilliseconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0", time.Nanosecond: "1", time.Second: "1000", 30 * 24 * time.Hour: "2592000000"} {
		if got, err := json.Marshal(Duration(d)); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", d, got, err)
		}
	}
	for _, bad := range []string{`"1s"`, `1.5`, `1e3`, `9223372036854775807`, `null1`, `true`} {
		var d Duration
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s was read as %v", bad, d)
		}
	}
	var d Duration
	if err := json.Unmarshal([]byte("2592000000"), &d); err != nil || time.Duration(d) != 30*24*time.Hour {
		t.Errorf("30 days: %v, %v", d, err)
	}
}

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, info := range Codes() {
		if seen[info.Code] {
			t.Errorf("%s is listed twice", info.Code)
		}
		seen[info.Code] = true
		if info.Meaning == "" || info.Hint == "" {
			t.Errorf("%s has no meaning or no hint", info.Code)
		}
		r := Refused(info.Code, "because %d", 1)
		if r.Hint != info.Hint || r.Retryable != info.Retryable || r.Message != "because 1" {
			t.Errorf("%s: %+v", info.Code, r)
		}
	}
	if info := Code("unheard_of").Info(); info.Hint != "" || info.Code != "unheard_of" {
		t.Errorf("an unknown code has %+v", info)
	}
	var refusal *Refusal
	if err := error(Refused(Busy, "full")); !errors.As(err, &refusal) || err.Error() != "busy: full" {
		t.Errorf("as an error: %v", err)
	}
}

func TestDecisionShowsAllReasons(t *testing.T) {
	t.Parallel()
	d := Decision{Refusals: []Refusal{*Refused(ArgvNUL, "one"), *Refused(Busy, "two")}}
	r := d.Refusal()
	if r.Code != ArgvNUL || len(r.Others) != 1 || r.Others[0].Code != Busy {
		t.Errorf("%+v", r)
	}
	if (Decision{}).Refusal() != nil {
		t.Error("no reason became a refusal")
	}
}

func TestZeroValuesAreSafe(t *testing.T) {
	t.Parallel()
	if (State("")).Settled() || Starting.Settled() || Running.Settled() {
		t.Error("a run that isn't over counts as settled")
	}
	for _, s := range []State{Exited, Killed, TimedOut, OutputLimit, FailedToStart, Lost} {
		if !s.Settled() {
			t.Errorf("%s isn't settled", s)
		}
	}
	if Isolation("").Tree() != TreeBestEffort || Guardian.Tree() != TreeBestEffort || PIDNamespace.Tree() != TreeKernel {
		t.Error("a tree is promised more than it gets")
	}
	if !(Stdin{}).IsZero() || (Stdin{File: "x"}).IsZero() {
		t.Error("stdin")
	}
	if got := (Command{Env: map[string]string{"B": "secret", "A": "secret"}}).EnvironmentNames(); len(got) != 2 || got[0] != "A" {
		t.Errorf("names %v", got)
	}
}
