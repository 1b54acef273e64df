package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"paddock/internal/relay/wire"
)

// Changed is closed when a worker comes or goes.
func (h *Hub) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Head asks a worker how far its journal has come since it had from entries, and is what
// it says. A worker that isn't connected is away; it isn't waited for.
func (h *Hub) Head(ctx context.Context, worker string, from int64) ([]byte, error) {
	h.mu.Lock()
	l := h.links[worker]
	h.mu.Unlock()
	if l == nil {
		return nil, away(worker)
	}
	body, err := json.Marshal(since{from})
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, wire.Ask)
	defer cancel()
	text, err := l.Send(limited, http.MethodPost, wire.Prefix+head, body)
	if errors.Is(err, wire.ErrBroken) {
		return nil, away(worker)
	}
	return text, err
}
