package feed

import (
	"context"
	"strings"
	"testing"

	"paddock"
)

// A broken house panics when somebody asks it for output, or how a run came out.
type broken struct {
	*house
	output, status bool
}

func (b broken) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if b.output {
		panic("it is broken")
	}
	return b.house.Output(ctx, p, id, req)
}

func (b broken) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	if b.status {
		panic("it is broken")
	}
	return b.house.Status(ctx, p, id)
}

// What panics while one run is read, or one follower asks, is an error of theirs: the server
// goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	for what, b := range map[string]broken{"the reader of a run": {output: true}, "a follower": {status: true}} {
		b.house = newHouse(t, nil)
		b.print(paddock.Stdout, []byte("hello\n"))
		b.settle(paddock.Exited)
		hub := New(t.Context(), b)
		f, err := hub.Follow(t.Context(), b.run.Principal, b.run.ID, 0)
		for err == nil {
			_, err = f.Next(t.Context())
		}
		if !strings.Contains(err.Error(), "a panic: it is broken") || !strings.Contains(err.Error(), "panic_test.go") {
			t.Errorf("%s: %v", what, err)
		}
		if f != nil {
			f.Close()
		}
		hub.Close()
	}
}
