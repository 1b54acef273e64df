package early_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/cmd/paddock/internal/desk/early"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/listen"
	"paddock/internal/store"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var errAway = fmt.Errorf("the accounts' store: %w: nobody there", store.ErrAway)

func config(l net.Listener, wait time.Duration, said *[]string) early.Config {
	quiet := slog.New(slog.DiscardHandler)
	return early.Config{
		Wait: wait, Listener: l, Serve: listen.Options{Connections: 10, Log: quiet, Now: time.Now},
		Shield: shield.Config{Loopback: true, Log: quiet, Now: time.Now},
		Tell:   func(d time.Duration) { *said = append(*said, d.String()) }, Warn: func(err error) { *said = append(*said, err.Error()) },
	}
}

// As long as the database is away who asks is told so; then the same listener is the
// server's.
func TestAnswersMeanwhile(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, path, host string) (int, string, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		a, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return 0, "", nil
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Error(err)
		}
		return a.StatusCode, string(text), a.Header
	}
	tries := 0
	var said []string
	got, err := early.Open(t.Context(), config(l, time.Hour, &said), func(context.Context) (string, error) {
		if tries++; tries == 1 {
			return "", errAway
		}
		for _, tc := range []struct {
			method, path, host string
			want               int
		}{
			{"GET", "/livez", "", 200}, {"GET", "/readyz", "", 503}, {"POST", "/readyz", "", 503}, {"GET", "/api/v1/runs", "", 503}, {"GET", "/", "", 503},
			{"GET", "/livez", "evil.example.org", 421},
		} {
			code, text, head := ask(tc.method, tc.path, tc.host)
			if code != tc.want || head.Get("X-Content-Type-Options") != "nosniff" || code == 503 && head.Get("Retry-After") == "" || strings.Contains(text, "nobody there") {
				t.Errorf("%s %s: %d %s %v", tc.method, tc.path, code, text, head)
			}
		}
		return "it", nil
	})
	if err != nil || got != "it" || tries != 2 || len(said) != 2 || !strings.Contains(said[0], "nobody there") {
		t.Fatalf("%q, %v after %d tries; said %q", got, err, tries, said)
	}
	done := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	opt := config(l, 0, &said).Serve
	opt.Ending = func() {}
	opt.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	go func() { done <- listen.Serve(ctx, l, opt) }()
	if code, _, _ := ask("GET", "/livez", ""); code != http.StatusTeapot {
		t.Errorf("afterwards: %d", code)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type still struct{ net.Listener }

// It tries less and less often, and not for ever; it ends when it is asked to; and what
// waiting doesn't help isn't waited for.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := func(errs ...error) (tries int, took time.Duration, said []string, err error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun := time.Now()
			_, err = early.Open(ctx, config(still{}, time.Minute, &said), func(context.Context) (int, error) {
				one := errs[min(tries, len(errs)-1)]
				tries++
				if errors.Is(one, context.Canceled) {
					cancel()
					return 0, errAway
				}
				return 0, one
			})
			return tries, time.Since(begun), said, err
		}
		if tries, took, said, err := open(errAway, errAway, errAway, errAway, nil); err != nil || tries != 5 || took != 7500*time.Millisecond {
			t.Errorf("%d tries, %v, %v: %q", tries, took, err, said)
		}
		if tries, took, said, err := open(errAway); !errors.Is(err, store.ErrAway) || took != time.Minute || tries != 10 || strings.Count(strings.Join(said, " "), "nobody there") != 1 {
			t.Errorf("%d tries, %v, %v: %q", tries, took, err, said)
		}
		if tries, took, _, err := open(store.ErrOpen); !errors.Is(err, store.ErrOpen) || tries != 1 || took != 0 {
			t.Errorf("%d tries, %v, %v", tries, took, err)
		}
		if tries, _, _, err := open(errAway, store.ErrOpen); !errors.Is(err, store.ErrOpen) || tries != 2 {
			t.Errorf("%d tries, %v", tries, err)
		}
		if tries, _, _, err := open(errAway, context.Canceled); !errors.Is(err, context.Canceled) || tries != 2 {
			t.Errorf("%d tries, %v", tries, err)
		}
		var said []string
		if _, err := early.Open(t.Context(), config(still{}, 0, &said), func(context.Context) (int, error) { return 0, errAway }); !errors.Is(err, store.ErrAway) || len(said) != 0 {
			t.Errorf("without waiting: %v %q", err, said)
		}
	})
}
