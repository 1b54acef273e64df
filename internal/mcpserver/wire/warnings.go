package wire

import (
	"context"
	"log/slog"
)

// Warnings lets only warnings and errors of the MCP library through: what it says of
// every connection is of no use to an operator.
type Warnings struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (w Warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
