package reach

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func all(addrs []netip.Addr, _ int) ([]netip.Addr, string) { return addrs, "" }

// TestOpenShares lets the first address hang: the next still gets its time.
func TestOpenShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		defer server.Close()
		w := Way{
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}, nil
			},
			Judge: all,
			Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				if to.Addr() == netip.MustParseAddr("192.0.2.1") {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return client, ctx.Err()
			},
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, to, err := w.Open(ctx, "a.example", 80)
		if took := time.Since(begun); err != nil || to.String() != "192.0.2.2:80" || took != 30*time.Second {
			t.Errorf("got %v, %v after %v", to, err, took)
		}
	})
}

func TestOpenTriesAreBounded(t *testing.T) {
	t.Parallel()
	tries := 0
	w := Way{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return make([]netip.Addr, 10_000), nil
		},
		Judge: all,
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			tries++
			return nil, errors.New("nobody")
		},
	}
	if _, _, err := w.Open(t.Context(), "a.example", 80); err == nil || tries != maxTries {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	w := Way{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, context.DeadlineExceeded },
		Judge:   func([]netip.Addr, int) ([]netip.Addr, string) { return nil, "bad" },
	}
	_, _, err := w.Open(t.Context(), "a.example", 80)
	if _, ok := errors.AsType[*ResolveError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_, _, err = w.Open(t.Context(), "192.0.2.1", 80)
	if e, ok := errors.AsType[*RefusedError](err); !ok || e.Why != "bad" {
		t.Errorf("got %v", err)
	}
}
