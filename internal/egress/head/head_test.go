package head

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		want     Head
		problem  string
	}{
		{"CONNECT", "CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n", Head{Method: "CONNECT", Target: "a.b:443", Host: "a.b:443"}, ""},
		{"CONNECT without Host", "CONNECT a.b:443 HTTP/1.1\r\n\r\n", Head{Method: "CONNECT", Target: "a.b:443"}, ""},
		{"old", "GET http://a/ HTTP/1.0\r\n\r\n", Head{Method: "GET", Target: "http://a/", Old: true}, ""},
		{"a body", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n", Head{Method: "POST", Target: "http://a/", Host: "a", Body: true}, ""},
		{"an empty body", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", Head{Method: "POST", Target: "http://a/", Host: "a"}, ""},
		{"chunks", "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", Head{Method: "POST", Target: "http://a/", Host: "a", Body: true}, ""},
		{"Latin-1 in a value", "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: \xe9\r\n\r\n", Head{Method: "GET", Target: "http://a/", Host: "a"}, ""},

		{"two Hosts", "GET http://a/ HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", Head{}, "more than one Host"},
		{"no Host", "GET http://a/ HTTP/1.1\r\n\r\n", Head{}, "no Host"},
		{"folded", "GET http://a/ HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", Head{}, "malformed"},
		{"folded with a tab", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\tX: b\r\n\r\n", Head{}, "malformed"},
		{"a space before the colon", "GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n", Head{}, "malformed"},
		{"a space first", "GET http://a/ HTTP/1.1\r\n Host: a\r\n\r\n", Head{}, "malformed"},
		{"no colon", "GET http://a/ HTTP/1.1\r\nHost\r\n\r\n", Head{}, "malformed"},
		{"no name", "GET http://a/ HTTP/1.1\r\n: a\r\n\r\n", Head{}, "malformed"},
		{"line feeds", "GET http://a/ HTTP/1.1\nHost: a\n\n", Head{}, "empty line"},
		{"a line feed inside", "GET http://a/ HTTP/1.1\r\nX: b\nHost: evil\r\nHost: a\r\n\r\n", Head{}, "control"},
		{"a carriage return inside", "GET http://a/ HTTP/1.1\r\nX: b\rHost: evil\r\nHost: a\r\n\r\n", Head{}, "control"},
		{"NUL in a value", "GET http://a/ HTTP/1.1\r\nHost: a\x00b\r\n\r\n", Head{}, "control"},
		{"NUL in the target", "CONNECT a\x00.evil:443 HTTP/1.1\r\n\r\n", Head{}, "control"},
		{"two lengths", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", Head{}, "more than once"},
		{"a list of lengths", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", Head{}, "not a number"},
		{"a length with a sign", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", Head{}, "not a number"},
		{"a length in hexadecimal", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n", Head{}, "not a number"},
		{"no length", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", Head{}, "not a number"},
		{"TE and CL", "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", Head{}, "more than once"},
		{"two TE", "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", Head{}, "more than once"},
		{"another TE", "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", Head{}, "chunked"},
		{"a list of TE", "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Head{}, "chunked"},
		{"old TE", "POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Head{}, "chunked"},
		{"CONNECT with a body", "CONNECT a:1 HTTP/1.1\r\nContent-Length: 3\r\n\r\n", Head{}, "no body"},
		{"two spaces", "GET  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"a space in the target", "GET http://a/ b HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"a tab in the target", "GET http://a/\tb HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"a fragment", "GET http://a#@b/ HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"a backslash", "GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"not ASCII in the target", "GET http://a\xe9/ HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\n", Head{}, "HTTP/1.1"},
		{"HTTP/0.9", "GET http://a/\r\n\r\n", Head{}, "request line"},
		{"lower version", "GET http://a/ http/1.1\r\nHost: a\r\n\r\n", Head{}, "HTTP/1.1"},
		{"an empty line first", "\r\nGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Head{}, "request line"},
		{"no end", "GET http://a/ HTTP/1.1\r\nHost: a\r\n", Head{}, "empty line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tc.in))
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Fatalf("got %v, want %q", err, tc.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAuthority(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"http://a.b/c?d":      "a.b",
		"HTTP://a.b:80?x=/":   "a.b:80",
		"http://a.b":          "a.b",
		"http://a@b/":         "a@b",
		"http:///c":           "",
		"https://a.b/":        "error",
		"ftp://a.b/":          "error",
		"/path":               "error",
		"*":                   "error",
		"a.b:80":              "error",
		"http:/a.b/":          "error",
		"//a.b/":              "error",
		"http://a.b?@c/d":     "a.b",
		"http://[::1]:80/?@x": "[::1]:80",
	} {
		got, err := Head{Target: target}.Authority()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func TestPeek(t *testing.T) {
	t.Parallel()
	const request = "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, tc := range []struct {
		name, in, want string
		err            error
	}{
		{"a request and more", request + "more", request, nil},
		{"line feeds end it too", "GET / HTTP/1.1\n\nmore", "GET / HTTP/1.1\n\n", nil},
		{"mixed", "GET / HTTP/1.1\n\r\nmore", "GET / HTTP/1.1\n\r\n", nil},
		{"too long", "GET /" + strings.Repeat("a", 200), "", ErrTooLong},
		{"cut off", request[:len(request)-1], "", io.EOF},
		{"exactly full", strings.Repeat("a", 60) + "\r\n\r\n", strings.Repeat("a", 60) + "\r\n\r\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(tc.in)), 64)
			got, err := Peek(r)
			if string(got) != tc.want || !errors.Is(err, tc.err) {
				t.Fatalf("got %q, %v", got, err)
			}
			if rest, _ := io.ReadAll(r); tc.err == nil && string(rest) != tc.in {
				t.Errorf("%q was taken", tc.in[:len(tc.in)-len(rest)])
			}
		})
	}
}

// FuzzParse holds Parse against net/http: what passes here means the same there.
func FuzzParse(f *testing.F) {
	f.Add([]byte("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n"))
	f.Add([]byte("POST http://a.b/c HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\n\r\n"))
	f.Add([]byte("GET http://a.b HTTP/1.0\r\nX:\ty \r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := Parse(in)
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
		if err != nil {
			return // stricter there, and the request is refused there
		}
		if r.Method != h.Method || r.RequestURI != h.Target || (r.ContentLength != 0) != h.Body {
			t.Fatalf("here %+v, there %q %q %d", h, r.Method, r.RequestURI, r.ContentLength)
		}
		if authority, err := h.Authority(); err == nil && !strings.Contains(authority, "@") && !strings.EqualFold(authority, r.URL.Host) {
			t.Fatalf("here %q, there %q", authority, r.URL.Host)
		}
	})
}
