//go:build linux

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"paddock"
	"paddock/internal/auth"
	authdesk "paddock/internal/auth/desk"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/problem"
)

// FuzzAPI sends what its own description says can be sent, what is at the edges of
// that, and what is neither, as everybody who can ask. No answer is a fault of ours, and
// each is as it is described. What a seed sends is the same every time but for what the
// server gave before: ids and codes.
func FuzzAPI(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, byte(40))
	}
	a := openAPIUnderFire(f)
	f.Fuzz(func(t *testing.T, seed uint64, requests byte) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), doc: a.doc, seen: &a.seen, ids: a.ids, dir: a.dir}
		for range requests {
			a.shoot(t, g)
		}
	})
}

// TestEveryRouteUnderFire does each route a few times, so that none is left to chance.
func TestEveryRouteUnderFire(t *testing.T) {
	t.Parallel()
	a := openAPIUnderFire(t)
	g := &generator{Rand: rand.New(rand.NewPCG(1, 1)), doc: a.doc, seen: &a.seen, ids: a.ids, dir: a.dir}
	for _, op := range a.operations {
		g.manner = mannerly
		for range 5 {
			a.send(t, g, op, gate.Admin)
		}
	}
	for _, op := range a.operations {
		for range 8 {
			g.manner = manner(g.IntN(4))
			a.send(t, g, op, g.role())
		}
	}
	if faults := a.faults(); faults != "" {
		t.Errorf("the log tells of faults:\n%s", faults)
	}
	if len(a.good) < len(a.operations)/2 {
		t.Errorf("of %d routes only %d answered well once: what is sent isn't good enough to get anywhere: %v", len(a.operations), len(a.good), a.good)
	}
}

// An operation is one thing that the description says can be asked.
type operation struct {
	method, path string
	params       []any
	body         any // a schema; nil means that there is none
	responses    map[string]any
}

// A target is a server that is asked everything.
type target struct {
	*stand
	doc        map[string]any
	schemas    *jsonschema.Compiler
	operations []operation
	seen       []string            // ids, names and codes that the server gave
	ids        map[string][]string // by the first word of the path at which it gave them
	words      map[gate.Role]string
	good       map[string]bool // operations that did something once
	people     int
}

func openAPIUnderFire(t testing.TB) *target {
	t.Helper()
	a := &target{words: map[gate.Role]string{}, good: map[string]bool{}, ids: map[string][]string{}}
	a.stand = open(t, func(c *Config) {
		c.Limits.AllPerSecond, c.Limits.AllBurst = 1e6, 1e6
		c.Gate = nil // the accounts themselves, and none of a test
	})
	text, err := a.door.openAPI()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a.doc); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a.schemas = jsonschema.NewCompiler()
	if err := a.schemas.AddResource("urn:openapi", doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range a.doc["paths"].(map[string]any) {
		for method, said := range methods.(map[string]any) {
			op := operation{method: strings.ToUpper(method), path: path, responses: map[string]any{}}
			what := said.(map[string]any)
			op.params, _ = what["parameters"].([]any)
			if body, ok := what["requestBody"].(map[string]any); ok {
				op.body = dig(body, "content", "application/json", "schema")
			}
			op.responses, _ = what["responses"].(map[string]any)
			a.operations = append(a.operations, op)
		}
	}
	slices.SortFunc(a.operations, func(x, y operation) int { return strings.Compare(x.path+x.method, y.path+y.method) })
	return a
}

func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// word is a credential of somebody with the role: nobody's, a session's or a token's.
// Who was shut out by what was asked before is somebody new.
func (a *target) word(t testing.TB, role gate.Role) string {
	t.Helper()
	if role == gate.Anybody {
		return ""
	}
	if word := a.words[role]; word != "" {
		return word
	}
	a.people++
	a.words[role] = a.enter(t, fmt.Sprintf("shot-%d", a.people), role)
	return a.words[role]
}

// enter makes a user and logs him in by a link of the operator's.
func (s *stand) enter(t testing.TB, name string, role gate.Role) (session string) {
	t.Helper()
	user := s.add(t, name, role)
	link, _, err := s.authdesk.People.Link(t.Context(), auth.Local(), user.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.authdesk.Redeem(t.Context(), authdesk.From{}, link)
	if err != nil {
		t.Fatal(err)
	}
	return e.Secret
}

// shoot sends one request.
func (a *target) shoot(t testing.TB, g *generator) {
	t.Helper()
	g.manner = manner(g.IntN(4))
	a.send(t, g, a.operations[g.IntN(len(a.operations))], g.role())
}

func (a *target) send(t testing.TB, g *generator, op operation, role gate.Role) {
	t.Helper()
	r := g.request(t, a.url, op)
	if word := a.word(t, role); word != "" {
		r.AddCookie(&http.Cookie{Name: "paddock", Value: word})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r.WithContext(ctx))
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 8<<20))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	for _, c := range answer.Cookies() {
		if c.Value != "" && c.Name == "paddock" {
			a.words[role] = c.Value
		} else if c.Name == "paddock" {
			delete(a.words, role)
		}
	}
	if answer.StatusCode == http.StatusUnauthorized {
		delete(a.words, role)
	}
	if err := a.judge(op, answer, body); err != nil {
		sent, _ := r.GetBody()
		var text []byte
		if sent != nil {
			text, _ = io.ReadAll(io.LimitReader(sent, 2000))
		}
		t.Errorf("%s %s as %q: %d: %v\nsent %v %q\ngot %.2000s\nlog: %s", r.Method, r.URL, role, answer.StatusCode, err, r.Header, text, body, a.faults())
	}
}

// faults are the lines of the log that tell of one.
func (a *target) faults() string {
	var all []string
	for line := range strings.SplitSeq(a.log.String(), "\n") {
		if strings.Contains(line, "fault=") {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-3):], "\n")
}

// judge holds an answer to its description.
func (a *target) judge(op operation, answer *http.Response, body []byte) error {
	if answer.Header.Get("Content-Security-Policy") != shield.APIPolicy || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
		return fmt.Errorf("without the headers that all answers have: %v", answer.Header)
	}
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	said, known := op.responses[strconv.Itoa(answer.StatusCode)]
	status := strconv.Itoa(answer.StatusCode)
	switch {
	case answer.Request.Method == http.MethodHead:
		if answer.StatusCode >= 500 {
			return errors.New("a fault of ours")
		}
		return nil
	case media == problem.ContentType:
		status = "default"
		var p struct {
			Status  int              `json:"status"`
			Detail  string           `json:"detail"`
			Refusal *paddock.Refusal `json:"refusal"`
		}
		if err := json.Unmarshal(body, &p); err != nil || p.Status != answer.StatusCode || p.Detail == "" {
			return errors.Join(errors.New("the problem isn't one"), err)
		}
		if p.Status >= 500 && (p.Status != http.StatusServiceUnavailable || p.Refusal == nil) {
			return errors.New("a fault of ours")
		}
	case !known:
		return errors.New("that status isn't described")
	case answer.StatusCode >= 500:
		return errors.New("a fault of ours")
	case dig(said, "content") != nil && dig(said, "content", media) == nil:
		return fmt.Errorf("answered as %q", media)
	}
	if strings.HasSuffix(media, "json") {
		schema, err := a.schemas.Compile("urn:openapi#/paths/" + strings.ReplaceAll(op.path, "/", "~1") + "/" + strings.ToLower(op.method) + "/responses/" + status + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema")
		if err != nil {
			return err
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil && op.path != "/api/v1/openapi.json" {
			err = schema.Validate(v)
		}
		if err != nil {
			return err
		}
		if status != "default" {
			a.learn(kind(op.path), v)
		}
	}
	if answer.StatusCode < 300 {
		a.good[op.method+op.path] = true
	}
	return nil
}

// learn keeps what the server calls things, to ask for them.
func (a *target) learn(kind string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if id, ok := inner.(string); ok && key == "id" {
				a.ids[kind] = append(a.ids[kind], id)
				a.ids[kind] = a.ids[kind][max(0, len(a.ids[kind])-20):]
			}
			if s, ok := inner.(string); ok && (key == "id" || key == "code" || key == "word" || key == "sealed" || key == "next" || key == "carried" || key == "digest") && len(s) < 3000 {
				a.seen = append(a.seen, s)
				a.seen = a.seen[max(0, len(a.seen)-100):]
			}
			a.learn(kind, inner)
		}
	case []any:
		for _, inner := range v {
			a.learn(kind, inner)
		}
	}
}

// A manner is how somebody asks.
type manner int

const (
	mannerly   manner = iota // by the book
	mannered                 // by the book, at its edges
	unmannerly               // not by the book
	rude                     // not even in its letters
)

type generator struct {
	*rand.Rand
	doc    map[string]any
	seen   *[]string
	ids    map[string][]string // see target
	dir    string              // where runs may be
	manner manner
}

// role is somebody's; most often of who may most.
func (g *generator) role() gate.Role {
	return pick(g, append(gate.Roles(), gate.Anybody, gate.Admin, gate.Operator)...)
}

func pick[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func (g *generator) request(t testing.TB, base string, op operation) *http.Request {
	t.Helper()
	path, query, headers := op.path, url.Values{}, http.Header{}
	for _, p := range op.params {
		name, in, schema := dig(p, "name").(string), dig(p, "in").(string), dig(p, "schema")
		switch value := g.parameter(name, schema); in {
		case "path":
			if known := g.known(op.path); g.manner == mannerly && known != "" {
				value = known
			}
			if value == "" || value == "." || value == ".." {
				value = "none"
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
		case "query":
			if g.IntN(3) == 0 {
				query.Add(name, value)
			}
			if g.manner == rude && g.IntN(10) == 0 {
				query.Add(name, value)
			}
		case "header":
			value = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return -1
				}
				return r
			}, value)
			if g.IntN(3) == 0 {
				headers.Set(name, value)
			}
		}
	}
	raw := query.Encode()
	if g.manner == rude && g.IntN(4) == 0 {
		raw += pick(g, "&%zz", "&x=1", "&;", "&token=abc", "&=", "&"+strings.Repeat("a", 9000), "&%00=%ff")
	}
	var body []byte
	if op.body != nil {
		body = g.body(op.body)
		headers.Set("Content-Type", "application/json")
	}
	if g.manner == rude && g.IntN(6) == 0 {
		headers.Set("Content-Type", pick(g, "", "text/plain", "application/json; charset=utf-16", "application/x-www-form-urlencoded", "application/json;;;", strings.Repeat("a", 3000)))
	}
	if g.manner == rude && g.IntN(8) == 0 {
		body = pick(g, nil, []byte("{}"), []byte("null"), []byte("[]"), []byte{0xff, 0xfe}, []byte(`"`), bytes.Repeat([]byte("["), 20_000))
	}
	method := op.method
	if method == http.MethodGet && g.IntN(20) == 0 {
		method = http.MethodHead
	}
	if raw != "" {
		path += "?" + raw
	}
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(body))
	if err != nil { // it can't be put into a URL
		r, err = http.NewRequestWithContext(t.Context(), method, base+"/livez", http.NoBody)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range headers {
		r.Header[name] = values
	}
	return r
}

// kind is what a path is about.
func kind(path string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/v1/"), "/")
	return kind
}

// known is an id that the server gave to a thing of the kind that a path is about.
func (g *generator) known(path string) string {
	if ids := g.ids[kind(path)]; len(ids) > 0 {
		return pick(g, ids...)
	}
	return ""
}

// parameter is the text of one.
func (g *generator) parameter(name string, schema any) string {
	switch v := g.value(name, schema, 0).(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return fmt.Sprint(v[0])
		}
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// body is one, in the generator's manner.
func (g *generator) body(schema any) []byte {
	text, err := json.Marshal(g.value("", schema, 0))
	if err != nil {
		return nil
	}
	if g.manner != rude {
		return text
	}
	switch g.IntN(8) {
	case 0:
		return text[:g.IntN(len(text)+1)]
	case 1:
		return append(text, text...)
	case 2:
		if i := bytes.IndexByte(text, '"'); i >= 0 { // bytes that aren't text
			return slices.Insert(text, i+1, 0xff, 0)
		}
	case 3:
		return bytes.ReplaceAll(text, []byte(`"`), []byte(`"\ud800`))
	case 4: // a key twice
		if inner, ok := bytes.CutPrefix(text, []byte("{")); ok && len(inner) > 1 {
			return slices.Concat([]byte("{"), bytes.TrimSuffix(inner, []byte("}")), []byte(","), inner)
		}
	case 5:
		return []byte(`{"argv":` + strings.Repeat("[", 5000))
	case 6:
		return bytes.ReplaceAll(text, []byte("1"), []byte("1e999"))
	case 7:
		return slices.Concat([]byte{0xef, 0xbb, 0xbf}, text)
	}
	return text
}

// value is one by the schema, or beside it.
func (g *generator) value(name string, schema any, depth int) any {
	if g.manner >= unmannerly && g.IntN(6) == 0 {
		return g.wrong()
	}
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = dig(g.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
	if some, ok := s["anyOf"].([]any); ok {
		return g.value(name, some[g.IntN(len(some))], depth)
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind, _ = kinds[g.IntN(len(kinds))].(string)
	}
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(name, s, depth)
	case "string":
		return g.text(name, s["format"])
	case "integer", "number":
		return g.number(name)
	case "boolean":
		return g.IntN(2) == 0
	}
	return nil
}

func (g *generator) object(s map[string]any, depth int) any {
	made := map[string]any{}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	rare := 3 // most of what may be said isn't
	if g.manner == mannerly {
		rare = 12
	}
	for _, key := range slices.Sorted(mapKeys(properties)) {
		if depth < 4 && (slices.Contains(required, any(key)) || g.IntN(rare) == 0) {
			made[key] = g.value(key, properties[key], depth+1)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.IntN(3) {
			made[fmt.Sprint(g.text("env", nil))] = g.value("env", more, depth+1)
		}
	}
	if g.manner >= unmannerly && g.IntN(5) == 0 {
		made[pick(g, "", "admin", "__proto__", "Argv", "\x00", strings.Repeat("k", 2000))] = g.wrong()
	}
	return made
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (g *generator) array(name string, s map[string]any, depth int) any {
	if name == "argv" && g.manner == mannerly {
		return []any{"echo", g.text("word", nil)}
	}
	n := g.IntN(4)
	if g.manner == mannered && g.IntN(4) == 0 {
		n = pick(g, 0, 300)
	}
	made := make([]any, 0, n)
	for range n {
		made = append(made, g.value(name, s["items"], depth+1))
	}
	return made
}

// text is some that a person could mean by a name, or that nobody should.
func (g *generator) text(name string, format any) any {
	if g.manner != mannerly && g.IntN(3) == 0 {
		return pick(g, "", " ", "\x00", "é", "\u202e", strings.Repeat("x", 201), strings.Repeat("x", 5000), "../../etc/passwd", "/", "a/b", "%00", "'; DROP TABLE users; --", "{{7*7}}", "\r\nX: y", "-1", "null")
	}
	if format == "date-time" {
		return pick(g, "2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z")
	}
	usual := map[string][]string{
		"stream": {"stdout", "stderr", "combined"}, "view": {"clean", "color"}, "role": {"viewer", "operator", "approver", "admin"},
		"signal": {"TERM", "KILL", "INT"}, "scopes": {"runs.*", "runs.read", "whoami"}, "workspaces": {"*", "one"}, "argv": {"echo", "hello"},
		"dir": {"", g.dir}, "name": {"viewer", "operator", "approver", "bob", "some-one"}, "env": {"LANG", "C"}, "grep": {"a", "^h.*o$", "("},
		"password": {"correct horse battery", "short"}, "label": {"fuzz", "b"}, "workspace": {"some-one"}, "mode": {"open", "cordoned"}, "root": {g.dir}, "reason": {"asked for"}, "kind": {"oidc"}, "provider": {"local"},
	}[name]
	if usual != nil {
		return pick(g, usual...)
	}
	if seen := *g.seen; len(seen) > 0 && g.IntN(5) > 0 {
		return pick(g, seen...)
	}
	return pick(g, "hello", "one", "r00000000000000000000000000", "u00000000000000000000000000", "a00000000000000000000000000")
}

func (g *generator) number(name string) any {
	if g.manner == mannerly {
		switch name {
		case "lasts_ms":
			return pick(g, 60_000, 86_400_000)
		case "timeout_ms", "idle_ms":
			return pick(g, 0, 60_000)
		case "output_limit", "disk_limit":
			return pick(g, 0, 1<<20)
		}
		return pick(g, 0, 1, 2, 10)
	}
	return pick(g, any(0), any(-1), any(1), any(45_000), any(1001), any(int64(1)<<31), any(int64(1)<<53), any(int64(1)<<62), any(int64(-1)<<63), any(1.5))
}

// wrong is something of any kind.
func (g *generator) wrong() any {
	return pick(g, any(nil), any(true), any(-1), any(1e300), any("x"), any([]any{}), any(map[string]any{}), any([]any{nil}), any(strings.Repeat("y", 70_000)), any(map[string]any{"a": map[string]any{}}))
}
