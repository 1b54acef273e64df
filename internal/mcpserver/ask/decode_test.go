package ask

import (
	"errors"
	"testing"

	"paddock"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"argv":["go","test"],"stdin":{"taskId":"x","stream":"stderr"},"env":{"A":"b"},"timeoutMs":5}`,
		`{"argv":null}`, `{"argv":["a"],"argv":["b"]}`, `{"argv":["\ud800"]}`, `{"argv":[5]}`, `{"argv":["a"],"x":{}}`,
		`{"argv":["a"],"timeoutMs":1e3}`, `{"argv":["a"],"timeoutMs":99999999999999999999}`, `["go"]`, `null`, ``, `{`,
		`{"argv":["a"],"env":{"A\u0000":"b"}}`, `{"argv":["a"],"stdin":{}}`, "{\"argv\":[\"\xff\"]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := Decode[Start](b)
		if err != nil {
			if r, is := errors.AsType[*paddock.Refusal](err); !is || r.Code != paddock.InvalidRequest || r.Message == "" || len(r.Message) > 1000 {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		if in.Argv == nil {
			t.Errorf("no argv and no refusal for %q", b)
		}
		if cmd, err := in.Command(); err == nil && (cmd.Timeout < 0 || cmd.OutputLimit < 0) {
			t.Errorf("%q became %+v", b, cmd)
		}
	})
}
