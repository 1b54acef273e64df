package people

import (
	"context"
	"log/slog"
	"time"
)

// tidyEvery is how often what was over long ago is forgotten while a server runs.
const tidyEvery = time.Hour

// Tidy forgets what was over long ago, now and then, until the returned function is
// called, which waits for its end. What goes wrong is logged: the server is of use
// without it.
func Tidy(ctx context.Context, all Accounts, log *slog.Logger) (stop func()) {
	ticker := time.NewTicker(tidyEvery)
	end := tidy(ctx, all, log, ticker.C)
	return func() { ticker.Stop(); end() }
}

func tidy(ctx context.Context, all Accounts, log *slog.Logger, tick <-chan time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				if err := all.Forget(ctx); err != nil && ctx.Err() == nil {
					log.Error("forgetting accounts' things that are over", "err", err)
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}
