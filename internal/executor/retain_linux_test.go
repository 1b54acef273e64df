package executor

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
)

// What the policy keeps is kept, by whoever has the state directory open; who
// reads what is gone is told so.
func TestRetention(t *testing.T) {
	t.Parallel()
	tick := make(chan time.Time)
	var later atomic.Int64 // how far the clock is ahead
	f := open(t, func(c *Config) {
		dir := filepath.Dir(c.State)
		c.Policy = PolicyText("policy.yaml", []byte(strings.ReplaceAll(permissive, "ROOT", dir)+"retention: {age: 1h}\n"))
		c.Tick = tick
		c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	req := request("echo said")
	req.Command.Dir = f.dir
	run, err := f.e.Start(t.Context(), req)
	if err == nil {
		run, err = f.e.Wait(t.Context(), run.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Twice each time: the second is taken when the first turn is over.
	tick <- time.Time{}
	tick <- time.Time{}
	if page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{}); err != nil || page.Content != "said\n" {
		t.Fatalf("%q, %v", page.Content, err)
	}
	var refusal *paddock.Refusal
	for !errors.As(err, &refusal) { // its supervisor may still be telling the end
		later.Add(int64(2 * time.Hour))
		tick <- time.Time{}
		tick <- time.Time{}
		if _, err = f.e.Output(t.Context(), run.ID, paddock.PageRequest{}); err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	}
	if refusal.Code != paddock.Pruned || !strings.Contains(refusal.Message, "age, by policy") {
		t.Errorf("%+v", refusal)
	}
	var said strings.Builder
	if err := f.e.Follow(t.Context(), run.ID, paddock.Combined, 0, &said); !errors.As(err, &refusal) || said.Len() > 0 {
		t.Errorf("Follow = %v, %q", err, said.String())
	}
	if page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{Stream: paddock.Stderr}); err != nil || !page.EOF {
		t.Errorf("a stream that was empty is %+v, %v", page, err)
	}
	if again, err := f.e.Run(t.Context(), run.ID); err != nil || again.Pruned == nil || again.Stdout.Digest != run.Stdout.Digest {
		t.Errorf("its record is %+v, %v", again, err)
	}
}
