package wire

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"pgregory.net/rapid"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestEnvelope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line   string
		id     any // nil: none
		method string
		call   bool
	}{
		{`{"id":1,"method":"tools/call"}`, int64(1), "tools/call", true},
		{`{"method":"tools/call","params":{"id":2,"method":"x"},"id":1}`, int64(1), "tools/call", true},
		{` { "id" : "a\"b\u00e9" , "method" : "m" } `, `a"bé`, "m", true},
		{`{"params":"\"id\":5,\"method\":\"x\"","id":-7}`, int64(-7), "", true},
		{`{"params":["id",1,{"a":[{}]}],"id":3}`, int64(3), "", true},
		{`{"method":"notifications/x"}`, nil, "notifications/x", false},
		{`{"id":null}`, nil, "", true},
		{`{"id":1.5}`, nil, "", true},
		{`{"id":1e3}`, nil, "", true},
		{`{"id":true}`, nil, "", true},
		{`{"id":{"id":1}}`, nil, "", true},
		{`{"id":[1]}`, nil, "", true},
		{`{"id":9007199254740993}`, nil, "", true},
		{`{"id":9007199254740992}`, int64(1 << 53), "", true},
		{`{"id":1,"id":2}`, nil, "", true},
		{`{"\u0069d":1}`, nil, "", false},
		{`{"method":5,"id":1}`, int64(1), "", true},
		{`{"id":"` + strings.Repeat("x", 1000) + `"}`, nil, "", true},
		{`{"` + strings.Repeat("x", 1000) + `":1,"id":2}`, int64(2), "", true},
		{`[{"id":1,"method":"x"}]`, nil, "", false},
		{`{"id":1`, nil, "", false},
		{`}}}}{"id":1}`, nil, "", false},
		{``, nil, "", false},
	}
	for _, test := range tests {
		for _, size := range []int{1, 7, 1 << 20} {
			var e Envelope
			for b := []byte(test.line); len(b) > 0; b = b[min(size, len(b)):] {
				e.Write(b[:min(size, len(b))])
			}
			if e.ID().Raw() != test.id || e.Method() != test.method || e.IsCall() != test.call {
				t.Errorf("%.60s in pieces of %d: id %#v, method %q, call %t", test.line, size, e.ID().Raw(), e.Method(), e.IsCall())
			}
		}
	}
}

// On every message that is strictly right, the envelope sees what a decoder sees.
func TestEnvelopeAgreesWithDecoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := []string{
			fmt.Sprintf(`"id":%d`, rapid.Int32().Draw(t, "id")),
			`"params":` + string(must(json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "params")))),
			`"method":` + string(must(json.Marshal(rapid.StringN(0, 30, 100).Draw(t, "method")))),
			`"jsonrpc":"2.0"`,
		}
		line := []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ",") + "}")
		var e Envelope
		e.Write(line)
		msg, err := Decode(line, &e)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if req := msg.(*jsonrpc.Request); req.ID != e.ID() || req.Method != e.Method() {
			t.Fatalf("%s: decoder %v %q, envelope %v %q", line, req.ID, req.Method, e.ID(), e.Method())
		}
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"a":"\""}}`))
	f.Add([]byte(`{"id":"x","id":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Envelope
		e.Write(b)
		if len(e.name) > keep+1 || len(e.value) > keep+1 {
			t.Errorf("keeps %d and %d bytes", len(e.name), len(e.value))
		}
		e.ID()
		e.Method()
		if why, _ := Check(b); why == "" && bytes.HasPrefix(b, []byte("{")) {
			if msg, err := jsonrpc.DecodeMessage(b); err == nil {
				if req, ok := msg.(*jsonrpc.Request); ok && e.ID().IsValid() && req.ID != e.ID() {
					t.Errorf("%q: decoder says id %v, envelope %v", b, req.ID.Raw(), e.ID().Raw())
				}
			}
		}
	})
}
