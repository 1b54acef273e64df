package ask

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type input struct {
	ID    string           `path:"id"`
	Limit int              `query:"limit"`
	Small int8             `query:"small"`
	Wait  paddock.Duration `query:"wait_ms"`
	Since *time.Time       `query:"since"`
	Yes   bool             `query:"yes"`
	Runs  []string         `query:"runs"`
	Key   string           `header:"Idempotency-Key"`
	Body  struct {
		Argv    []string          `json:"argv"`
		Env     map[string]string `json:"env,omitempty"`
		Timeout paddock.Duration  `json:"timeout_ms,omitempty"`
		Stdin   paddock.Stdin     `json:"stdin,omitzero"`
	} `body:""`
}

func post(target, body string, change func(*http.Request)) (input, error) {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.SetPathValue("id", "r1")
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if change != nil {
		change(r)
	}
	var in input
	return in, errors.Join(Read(r, &in), keep(&in))
}

var last input

func keep(in *input) error { last = *in; return nil }

func TestRead(t *testing.T) {
	_, err := post("/x?limit=7&wait_ms=1500&since=2026-01-02T03:04:05Z&yes=true&runs=a&runs=b", `{"argv":["go","test"],"timeout_ms":90,"stdin":{"text":""}}`,
		func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") })
	in := last
	if err != nil || in.ID != "r1" || in.Limit != 7 || in.Wait != paddock.Duration(1500*time.Millisecond) || in.Since.Second() != 5 || !in.Yes ||
		len(in.Runs) != 2 || in.Key != "k" || len(in.Body.Argv) != 2 || in.Body.Timeout != paddock.Duration(90*time.Millisecond) || in.Body.Stdin.Text == nil {
		t.Errorf("%+v, %v", in, err)
	}
}

// Everything that isn't understood is refused, with words that say what.
func TestRefused(t *testing.T) {
	ok := `{"argv":["a"]}`
	deep := strings.Repeat("[", 20_000)
	for name, c := range map[string]struct {
		target, body, want string
		change             func(*http.Request)
	}{
		"unknown parameter":  {"/x?limits=1", ok, `"limits"`, nil},
		"doubled parameter":  {"/x?limit=1&limit=2", ok, "limit is there 2 times", nil},
		"bad escape":         {"/x?limit=%zz", ok, "query", nil},
		"semicolon":          {"/x?limit=1;yes=true", ok, "query", nil},
		"not a number":       {"/x?limit=1e3", ok, "whole number", nil},
		"number too large":   {"/x?limit=99999999999999999999", ok, "whole number", nil},
		"number too wide":    {"/x?small=300", ok, "whole number", nil},
		"wait too long":      {"/x?wait_ms=9223372036854775807", ok, "milliseconds", nil},
		"not a bool":         {"/x?yes=1", ok, "true or false", nil},
		"not a time":         {"/x?since=now", ok, "a time is", nil},
		"NUL in parameter":   {"/x?runs=a%00", ok, "NUL", nil},
		"UTF-8 in parameter": {"/x?runs=%ff", ok, "UTF-8", nil},
		"long parameter":     {"/x?runs=" + strings.Repeat("a", 9000), ok, "9000 bytes", nil},
		"unknown key":        {"/x", `{"argv":["a"],"shell":true}`, "no such key", nil},
		"key in capitals":    {"/x", `{"ARGV":["a"]}`, "no such key", nil},
		"doubled key":        {"/x", `{"argv":["a"],"argv":["b"]}`, "duplicate", nil},
		"doubled deep key":   {"/x", `{"argv":["a"],"env":{"A":"1","A":"2"}}`, "duplicate", nil},
		"wrong type":         {"/x", `{"argv":"go test"}`, "an array is wanted", nil},
		"wrong deep type":    {"/x", `{"argv":["a",7]}`, "/argv/1", nil},
		"fraction":           {"/x", `{"timeout_ms":1.5}`, "timeout_ms", nil},
		"UTF-8 in body":      {"/x", "{\"argv\":[\"\xff\"]}", "UTF-8", nil},
		"half a surrogate":   {"/x", `{"argv":["\ud800"]}`, "surrogate", nil},
		"NUL byte":           {"/x", "{\"argv\":[\"\x00\"]}", "body can't be used", nil},
		"two values":         {"/x", ok + ok, "after", nil},
		"broken off":         {"/x", `{"argv":["a"`, "unexpected EOF", nil},
		"empty":              {"/x", ``, "body can't be used", nil},
		"too deep":           {"/x", deep, "body can't be used", nil},
		"an array":           {"/x", `[]`, "an object is wanted", nil},
		"null":               {"/x", `null`, "an object is wanted", nil},
		"null for a word":    {"/x", `{"argv":["a",null]}`, "/argv/1", nil},
		"null for a value":   {"/x", `{"argv":["a"],"env":{"A":null}}`, "/env/A", nil},
		"null for a key":     {"/x", `{"argv":["a"],"timeout_ms":null}`, "/timeout_ms", nil},
		"null deeper":        {"/x", `{"argv":["a"],"stdin":{"text":null}}`, "is null; leave a key out", nil},
		"exponent":           {"/x", `{"timeout_ms":1e3}`, "want whole milliseconds, as 1500.", nil},
		"header twice": {"/x", ok, "2 times", func(r *http.Request) {
			r.Header["Idempotency-Key"] = []string{"a", "b"}
		}},
	} {
		_, err := post(c.target, c.body, c.change)
		var r *paddock.Refusal
		if !errors.As(err, &r) || r.Code != paddock.InvalidRequest || !strings.Contains(r.Message, c.want) {
			t.Errorf("%s: %v; want %q in it", name, err, c.want)
		}
	}
}

func TestBodyAsAWhole(t *testing.T) {
	large := `{"argv":["` + strings.Repeat("a", MaxBody) + `"]}`
	if _, err := post("/x", large, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large body: %v", err)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		if _, err := post("/x", `{"argv":["a"]}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) }); !errors.Is(err, ErrWrongType) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if _, err := post("/x", `{}`, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }); !errors.Is(err, ErrWrongType) {
		t.Errorf("packed: %v", err)
	}
	var none struct{}
	r := httptest.NewRequest(http.MethodGet, "/x", strings.NewReader("{}"))
	if err := Read(r, &none); err == nil {
		t.Error("a body where there is none to send")
	}
}

// What a browser made is handed on as it is, with what it left empty.
func TestNullOfOthers(t *testing.T) {
	var in struct {
		Answer map[string]any `json:"answer"`
	}
	if err := JSON([]byte(`{"answer":{"response":{"userHandle":null}}}`), &in); err != nil || len(in.Answer) != 1 {
		t.Errorf("%v, %v", in, err)
	}
	if err := JSON([]byte(`{"answer":null}`), &in); err == nil {
		t.Error("null for the answer")
	}
	// Nor does it end early where what decoded the rest was less strict.
	if err := noNull([]byte(`{"answer":{},"answer":null}`), reflect.TypeOf(in)); err == nil {
		t.Error("null behind what can't be read")
	}
}
