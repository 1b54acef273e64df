package presented_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/presented"
)

func word(t *testing.T, kind auth.Kind) string {
	t.Helper()
	w, err := auth.NewWord(kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// request comes from an address to one of ours.
func request(t *testing.T, target, from, to string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.RemoteAddr = from
	r.TLS = nil
	if to != "" {
		addr, err := net.ResolveTCPAddr("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, addr))
	}
	return r
}

func TestWay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to     string
		tls, secured bool
		want         presented.Way
	}{
		{"127.0.0.1:5000", "127.0.0.1:80", false, false, presented.Loopback},
		{"[::1]:5000", "[::1]:80", false, false, presented.Loopback},
		{"[::ffff:127.0.0.1]:5000", "127.0.0.1:80", false, false, presented.Loopback},
		{"192.0.2.1:5000", "127.0.0.1:80", false, false, presented.Open},
		{"127.0.0.1:5000", "192.0.2.1:80", false, false, presented.Open},
		{"127.0.0.1:5000", "", false, false, presented.Open},
		{"@", "127.0.0.1:80", false, false, presented.Open},
		{"", "127.0.0.1:80", false, false, presented.Open},
		{"192.0.2.1:5000", "192.0.2.2:443", true, false, presented.TLS},
		{"192.0.2.1:5000", "192.0.2.2:80", false, true, presented.TLS},
	} {
		r := request(t, "/", tc.from, tc.to)
		if tc.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := presented.WayOf(r, tc.secured); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}

func TestCookie(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for way, want := range map[presented.Way]string{
		presented.TLS:      "__Host-paddock=w; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax",
		presented.Loopback: "paddock=w; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax",
	} {
		if got := presented.Cookie(way, "w", now, now.Add(time.Hour)).String(); got != want {
			t.Errorf("%s", got)
		}
		if got := presented.Gone(way).String(); got != strings.Replace(strings.Replace(want, "=w;", "=;", 1), "3600", "0", 1) {
			t.Errorf("%s", got)
		}
	}
	if presented.Cookie(presented.Open, "w", now, now) != nil || presented.Gone(presented.Open) != nil {
		t.Error("there is a cookie on an open way")
	}
	if c := presented.Cookie(presented.TLS, "w", now, now); c.MaxAge != 1 { // 0 would mean no end
		t.Errorf("%d", c.MaxAge)
	}
}

func TestAway(t *testing.T) {
	t.Parallel()
	for way, want := range map[presented.Way]string{
		presented.TLS:      "__Host-paddock-away=w; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax",
		presented.Loopback: "paddock-away=w; Path=/; Max-Age=600; HttpOnly; SameSite=Lax",
	} {
		c := presented.Away(way, "w", 10*time.Minute)
		if c.String() != want {
			t.Errorf("%s", c)
		}
		for header, back := range map[string]string{c.Name + "=w": "w", c.Name + "=w; " + c.Name + "=x": "", "a=b": "", "": "", "__Host-paddock=w; paddock=w": ""} {
			r := request(t, "/", "127.0.0.1:1", "")
			r.Header.Set("Cookie", header)
			if got := presented.Back(r, way); got != back {
				t.Errorf("%s: %q", header, got)
			}
			if got := presented.Back(r, presented.Open); got != "" {
				t.Errorf("on an open way: %q", got)
			}
		}
	}
	if presented.Away(presented.Open, "w", time.Minute) != nil {
		t.Error("there is a cookie on an open way")
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	token, session, link := word(t, auth.TokenWord), word(t, auth.SessionWord), word(t, auth.LinkWord)
	both := map[string][]string{"Authorization": {"Bearer " + token}, "Cookie": {"paddock=" + session}}
	for name, tc := range map[string]struct {
		way     presented.Way
		headers map[string][]string
		kind    auth.Kind
		code    paddock.Code
	}{
		"nothing":                    {presented.TLS, nil, "", ""},
		"a token":                    {presented.Open, map[string][]string{"Authorization": {"Bearer " + token}}, auth.TokenWord, ""},
		"another case":               {presented.TLS, map[string][]string{"Authorization": {"bearer " + token}}, auth.TokenWord, ""},
		"a session":                  {presented.Loopback, map[string][]string{"Cookie": {"a=b; paddock=" + session}}, auth.SessionWord, ""},
		"a session by TLS":           {presented.TLS, map[string][]string{"Cookie": {"__Host-paddock=" + session}}, auth.SessionWord, ""},
		"without prefix by TLS":      {presented.TLS, map[string][]string{"Cookie": {"paddock=" + session}}, "", ""},
		"with prefix on loopback":    {presented.Loopback, map[string][]string{"Cookie": {"__Host-paddock=" + session}}, "", ""},
		"on an open way":             {presented.Open, map[string][]string{"Cookie": {"paddock=" + session + "; __Host-paddock=" + session}}, "", ""},
		"a cookie tossed beside":     {presented.TLS, map[string][]string{"Cookie": {"__Host-paddock=" + session + "; __Host-paddock=" + session}}, "", paddock.InvalidRequest},
		"in two headers":             {presented.Loopback, map[string][]string{"Cookie": {"paddock=" + session, "paddock=x"}}, "", paddock.InvalidRequest},
		"a header and a cookie":      {presented.Loopback, both, "", paddock.InvalidRequest},
		"two headers":                {presented.TLS, map[string][]string{"Authorization": {"Bearer " + token, "Bearer " + token}}, "", paddock.InvalidRequest},
		"a token in a cookie":        {presented.TLS, map[string][]string{"Cookie": {"__Host-paddock=" + token}}, "", paddock.Unauthenticated},
		"a session in the header":    {presented.TLS, map[string][]string{"Authorization": {"Bearer " + session}}, "", paddock.Unauthenticated},
		"a link in the header":       {presented.TLS, map[string][]string{"Authorization": {"Bearer " + link}}, "", paddock.Unauthenticated},
		"no scheme":                  {presented.TLS, map[string][]string{"Authorization": {token}}, "", paddock.Unauthenticated},
		"another scheme":             {presented.TLS, map[string][]string{"Authorization": {"Basic YTpi"}}, "", paddock.Unauthenticated},
		"an empty header":            {presented.TLS, map[string][]string{"Authorization": {""}}, "", paddock.Unauthenticated},
		"spaces":                     {presented.TLS, map[string][]string{"Authorization": {"Bearer  " + token}}, "", paddock.Unauthenticated},
		"a long header":              {presented.TLS, map[string][]string{"Authorization": {"Bearer " + strings.Repeat(token, 1000)}}, "", paddock.Unauthenticated},
		"NUL":                        {presented.TLS, map[string][]string{"Authorization": {"Bearer " + token + "\x00"}}, "", paddock.Unauthenticated},
		"an empty cookie":            {presented.TLS, map[string][]string{"Cookie": {"__Host-paddock="}}, "", paddock.Unauthenticated},
		"a cookie that isn't a word": {presented.TLS, map[string][]string{"Cookie": {"__Host-paddock=x"}}, "", paddock.Unauthenticated},
	} {
		r := request(t, "/api/v1/runs?after=3", "127.0.0.1:1", "")
		r.Header = tc.headers
		got, err := presented.Of(r, tc.way)
		var refusal *paddock.Refusal
		if tc.code != "" {
			if !errors.As(err, &refusal) || refusal.Code != tc.code || got != (presented.Credential{}) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if err != nil || got.Kind != tc.kind || (got.Word == "") != (tc.kind == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestNothingInTheURL(t *testing.T) {
	t.Parallel()
	token, link := word(t, auth.TokenWord), word(t, auth.LinkWord)
	escaped := strings.ReplaceAll(token, "_", "%5f")
	for _, bad := range []string{
		"/?token=" + token, "/?x=" + token, "/?x=" + escaped, "/?" + token, "/?" + escaped + "=1", "/runs/" + token, "/runs/" + escaped, "/runs/" + strings.ReplaceAll(escaped, "%", "%25"), "/?x=" + strings.ReplaceAll(escaped, "%", "%25"), "/?x=%2525252525", "/login/" + link,
		"/?access_token=x", "/?ACCESS_TOKEN=x", "/?acc%65ss_token=x", "/?a=1&api_key=x", "/?a=1;password=x", "/?token", "/?key=",
		"/?x=%zz" + token, "/?x=" + token[:40], "http://user:pw@host/", "http://user@host/", "/#" + token,
	} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		err = presented.InURL(u)
		var refusal *paddock.Refusal
		if !errors.As(err, &refusal) || refusal.Code != paddock.InvalidRequest {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		if text := refusal.Message + refusal.Hint; strings.Contains(text, token) || strings.Contains(text, link) || strings.Contains(text, token[8:]) {
			t.Errorf("the refusal repeats it: %s", text)
		}
		if line := presented.ForLog(u, "a", "x", "token"); strings.Contains(line, token[4:40]) || strings.Contains(line, link[4:]) || strings.Contains(line, "pw") {
			t.Errorf("the log has it: %s", line)
		}
		r := request(t, "/", "127.0.0.1:1", "")
		r.URL = u
		r.Header.Set("Authorization", "Bearer "+token)
		if got, err := presented.Of(r, presented.TLS); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	for _, fine := range []string{"/", "/api/v1/runs?after=3&limit=10&state=running", "/auth/callback?code=abc&state=def", "/?q=pdk_ is what tokens begin with", "/tokens"} {
		u, err := url.Parse(strings.ReplaceAll(fine, " ", "%20"))
		if err != nil {
			t.Fatal(err)
		}
		if err := presented.InURL(u); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	u, err := url.Parse("/runs/a%20b?after=secret&q=1&q=2&other=x")
	if err != nil {
		t.Fatal(err)
	}
	if got := presented.ForLog(u, "after", "q", "limit"); got != "/runs/a%20b?after&q" {
		t.Errorf("%s", got)
	}
}

// A real server and a client with a jar: the cookie comes back, and over loopback only.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	session := word(t, auth.SessionWord)
	for _, secured := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			way := presented.WayOf(r, false)
			got, err := presented.Of(r, way)
			if err != nil {
				t.Error(err)
			}
			if got.Word == "" {
				http.SetCookie(w, presented.Cookie(way, session, time.Unix(0, 0), time.Unix(60, 0)))
			}
			_, _ = io.WriteString(w, got.Word)
		}))
		if secured {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		client := srv.Client()
		var cookie string
		for _, want := range []string{"", session} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if cookie != "" {
				r.Header.Set("Cookie", cookie)
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || string(body) != want {
				t.Errorf("%t: %q, %v", secured, body, err)
			}
			for _, c := range res.Cookies() {
				cookie = c.Name + "=" + c.Value
				if c.Secure != secured || strings.HasPrefix(c.Name, "__Host-") != secured || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
					t.Errorf("%s", c)
				}
			}
		}
		client.CloseIdleConnections()
		srv.Close()
	}
}
