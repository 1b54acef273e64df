// Package progress tells clients that asked for it how long a call has waited.
//
// # Limits
//
// It knows nothing of what is waited for.
package progress

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// every is how often a waiting call reports.
const every = 5 * time.Second

// Report reports to a client that gave a token, until the returned function is
// called; after that nothing more is sent.
func Report(ctx context.Context, req *mcp.CallToolRequest, wait time.Duration, log *slog.Logger) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for passed := every; ; passed += every {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(passed.Milliseconds()), Total: float64(wait.Milliseconds()),
				Message: fmt.Sprintf("waiting for %s of at most %s", passed, wait),
			})
			if err != nil {
				log.Debug("reporting progress", "err", err)
				return
			}
		}
	})
	return func() {
		close(done)
		sending.Wait()
	}
}
