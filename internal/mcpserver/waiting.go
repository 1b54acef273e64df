package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
)

// progressEvery is how often a waiting call reports, to clients that asked.
const progressEvery = 5 * time.Second

// await returns the run when it is settled or wait is over. When the client
// closes its side, waiting ends and the answer is the status at that time.
func (s *session) await(ctx context.Context, c call, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait == 0 {
		return s.App.Status(ctx, s.Principal, id)
	}
	defer s.progress(ctx, c, wait)()
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	run, err := s.App.Wait(waiting, s.Principal, id, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return s.App.Status(ctx, s.Principal, id)
	}
	return run, err
}

// page reads one page. When the client closes its side, waiting ends and the
// answer is what is there at that time.
func (s *session) page(ctx context.Context, c call, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if req.Wait == 0 {
		return s.App.Output(ctx, s.Principal, id, req)
	}
	defer s.progress(ctx, c, time.Duration(req.Wait))()
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	page, err := s.App.Output(waiting, s.Principal, id, req)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		req.Wait = 0
		return s.App.Output(ctx, s.Principal, id, req)
	}
	return page, err
}

// progress reports to a client that gave a token, until the returned function
// is called; after that nothing more is sent.
func (s *session) progress(ctx context.Context, c call, wait time.Duration) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for passed := progressEvery; ; passed += progressEvery {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(passed.Milliseconds()), Total: float64(wait.Milliseconds()),
				Message: fmt.Sprintf("waiting for %s of at most %s", passed, wait),
			})
			if err != nil {
				s.Log.Debug("reporting progress", "err", err)
				return
			}
		}
	})
	return func() {
		close(done)
		sending.Wait()
	}
}

// waiting returns a context that ends also when the client has closed its side.
func (s *session) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
