package mcpserver

import (
	"testing"
)

// What each request of the revision without sessions pays for its server.
func BenchmarkOpen(b *testing.B) {
	cfg := Config{App: &fake{}, Principal: me, Tools: []string{"command_status"}, Git: func() bool { return true }, Delegates: func() bool { return true }}
	for b.Loop() {
		_, gone, end, err := Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		gone()
		end()
	}
}
