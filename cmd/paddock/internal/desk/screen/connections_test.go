package screen

import (
	"slices"
	"testing"

	"paddock/internal/egress/ledger"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    ledger.Entry
		want string
	}{
		{ledger.Entry{Host: "example.org", Port: 443, Verdict: ledger.Allowed, BytesOut: 10, BytesIn: 2048}, "example.org:443 allowed, 10 B out, 2 KiB in"},
		{ledger.Entry{Host: "::1", Port: 80, Verdict: ledger.Refused, Code: ledger.NotListed, Reason: "not\x1b listed"}, `[::1]:80 refused (host_not_listed): not\x1b listed`},
		{ledger.Entry{Verdict: ledger.Refused, Code: ledger.Malformed}, "refused (request_malformed)"},
	} {
		if got := connection(tt.e); got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.e, got, tt.want)
		}
	}
	over := ledger.Entry{Host: "a", Port: 1, Verdict: ledger.Refused, Closed: true}
	many := slices.Repeat([]ledger.Entry{over, {Host: "a", Port: 1, Verdict: ledger.Allowed}}, mostConnections+3)
	if got := connections(many); len(got) != mostConnections+1 || got[mostConnections][1] != "and 3 more; --json shows all" {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
	if got := connections(nil); got != nil {
		t.Errorf("without a proxy there is %q", got)
	}
}
