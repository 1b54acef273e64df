package mcpserver

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/mcpserver/progress"
)

// await returns the run when it is settled or wait is over. When the client
// closes its side, waiting ends and the answer is the status at that time.
func (s *session) await(ctx context.Context, c call, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if wait == 0 {
		return s.App.Status(ctx, s.Principal, id)
	}
	defer progress.Report(ctx, c.req, wait, s.Log)()
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
	defer progress.Report(ctx, c.req, time.Duration(req.Wait), s.Log)()
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	page, err := s.App.Output(waiting, s.Principal, id, req)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		req.Wait = 0
		return s.App.Output(ctx, s.Principal, id, req)
	}
	return page, err
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
