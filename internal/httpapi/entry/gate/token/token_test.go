package token_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/token"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func refused(err error, code paddock.Code) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == code
}

func TestToken(t *testing.T) {
	t.Parallel()
	word, err := auth.NewWord(auth.TokenWord, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", strings.Repeat("t", 31), strings.Repeat("t", 257), word} {
		if _, err := token.New(bad); !refused(err, paddock.InvalidRequest) {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
	good := strings.Repeat("t", 40)
	g, err := token.New(good)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(headers ...string) (gate.Caller, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		for _, h := range headers {
			r.Header.Add("Authorization", h)
		}
		return g.Identify(r)
	}
	if c, err := ask("Bearer " + good); err != nil || c.Role != gate.Admin || !c.Who.IsLocal() || !c.May(gate.ApprovalsVote) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := ask(); err != nil || !c.Nobody() {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range [][]string{{"Bearer "}, {good}, {"Basic " + good}, {"Bearer " + good + "t"}, {"Bearer " + strings.Repeat(good, 10)}, {"Bearer " + good, "Bearer " + good}, {"Bearer " + good + "\x00"}} {
		if _, err := ask(bad...); !refused(err, paddock.Unauthenticated) {
			t.Errorf("%.80q: %v", bad, err)
		}
	}
	if _, err := g.Login(t.Context(), gate.From{Addr: ""}, gate.Proof{Code: good}); !refused(err, paddock.Unauthenticated) {
		t.Error(err)
	}
	if c, err := g.Logout(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)); c != nil || err != nil {
		t.Error(c, err)
	}
}
