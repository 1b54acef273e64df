// Package traced has a server or worker send traces, where its configuration says where to.
//
// # Limits
//
// It is linked into the server's program alone. What is traced stands in those who act.
package traced

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"paddock/internal/outbound"
	"paddock/internal/trace"
	"paddock/internal/trace/export"
	"paddock/internal/trace/wanted"
	"paddock/internal/trust"
)

const most = 64 << 10

// Open begins to send traces, if s wants some. What is wrong is the operator's to mend.
func Open(ctx context.Context, s wanted.Settings, by wanted.Sender) (wanted.Traces, error) {
	if s.Endpoint == "" {
		return wanted.Traces{Close: func() {}}, nil
	}
	header, err := headers(s.HeaderFile)
	if err != nil {
		return wanted.Traces{}, fmt.Errorf("traces.header_file %q: %w; it has lines such as Authorization: Bearer WORD, and is readable by its owner alone", s.HeaderFile, err)
	}
	endpoint := s.Endpoint
	if endpoint == wanted.Environment {
		var more string
		endpoint, more = wanted.FromEnvironment(by.Env)
		if why := wanted.Place(endpoint); why != "" {
			return wanted.Traces{}, fmt.Errorf("traces go to what OTEL_EXPORTER_OTLP_ENDPOINT says, and that is %.100q: %s; set it, or say an endpoint in the configuration", endpoint, why)
		}
		if err := listed(header, more); err != nil {
			return wanted.Traces{}, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w; it is written NAME=VALUE,NAME=VALUE", err)
		}
	}
	roots, err := vouching(s.CA)
	if err != nil {
		return wanted.Traces{}, fmt.Errorf("traces.ca %q: %w", s.CA, err)
	}
	e := export.Begin(ctx, export.Config{
		Client: outbound.Client(authority(endpoint), roots), Endpoint: endpoint, Header: header, Service: by.Service, Version: by.Version, Now: by.Now, Warn: by.Warn,
	})
	return wanted.Traces{Tracer: &trace.Tracer{Sink: e, Sample: s.Sample, Incoming: s.Incoming}, Counts: e.Counts, Close: e.Close}, nil
}

// authority is the one place that may have any address: the operator named it.
func authority(endpoint string) []string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return []string{net.JoinHostPort(strings.ToLower(u.Hostname()), port)}
}

// headers reads a file that nobody else can read or change.
func headers(path string) (http.Header, error) {
	h := http.Header{}
	if path == "" {
		return h, nil
	}
	text, err := read(path, true)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		if err := add(h, name, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err) // without what it says: it is a secret
		}
	}
	return h, nil
}

// listed adds headers as the variable has them.
func listed(h http.Header, text string) error {
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if err == nil {
			err = add(h, name, plain)
		}
		if err != nil {
			return fmt.Errorf("its part %d isn't a header", i+1)
		}
	}
	return nil
}

func add(h http.Header, name, value string) error {
	name, value = strings.Trim(name, " \t"), strings.Trim(value, " \t")
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if name == "" || value == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.ContainsFunc(value, odd) {
		return errors.New("a header such as Name: value is wanted")
	}
	h.Set(textproto.CanonicalMIMEHeaderKey(name), value)
	return nil
}

// vouching are the certificates of the system and of a file; nil are the system's alone.
func vouching(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := read(path, false)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(text)) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}

func read(path string, closed bool) (string, error) {
	f, _, err := trust.User().Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if closed {
		if err := trust.User().Closed(f); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = errors.New("it is too long")
	}
	return string(text), err
}
