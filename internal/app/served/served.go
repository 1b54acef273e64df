// Package served is what who serves a delegate its tools needs of the house.
//
// # Limits
//
// It serves nothing. It is handed by package runner to a function of the host's choice,
// so that who serves none doesn't link what serving takes.
package served

import (
	"context"
	"log/slog"
	"net"
	"time"

	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/task/delegate"
)

// A Session is that of one delegate.
type Session struct {
	App      *app.App
	Policies executor.Source
	Delegate delegate.Delegate
	Log      *slog.Logger
	Now      func() time.Time
}

// Serve answers what a delegate asks over conn, and returns when conn or ctx has ended.
// It closes conn.
type Serve = func(ctx context.Context, conn net.Conn, s Session)
