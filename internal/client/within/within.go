// Package within has requests answered by a handler of this process: nothing goes over a
// network, and there is nobody else who could ask.
//
// # Limits
//
// Answers are whole before anybody reads them: it is no way to follow a stream.
package within

import (
	"bytes"
	"io"
	"net/http"
)

// Over is a transport to h.
func Over(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (w transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var a answer
	r = r.Clone(r.Context())
	r.RequestURI = r.URL.RequestURI()
	w.ServeHTTP(&a, r)
	status := max(a.status, http.StatusOK)
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.Header(), Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// An answer is one that is kept until it is whole.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
