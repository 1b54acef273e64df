package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"paddock"
)

// Over returns a Client of a handler in this process: nothing goes over a network, and
// there is nobody else who could ask.
func Over(h http.Handler) *Client {
	return &Client{base: &url.URL{Scheme: "http", Host: "localhost"}, wait: pause, http: &http.Client{Transport: within{h}}}
}

type within struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
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

// tell asks for what has no answer but that it is done.
func (c *Client) tell(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, paddock.MaxWait+answerTime)
	defer cancel()
	a, err := c.send(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	return a.Body.Close()
}
