package rundir

import (
	"context"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
)

// Remove removes a resting run with its record and its idempotency key. It is gone
// all at once: what a crash leaves of it is swept by [State.Reconcile].
func (s *State) Remove(ctx context.Context, d *Dir, p paddock.Principal, key string) error {
	gone := filepath.Join(s.path, tmpDir, string(d.ID()))
	err := s.Claim(ctx, func(*Claim) error {
		if err := durable.Remove(s.index.Unseen(record.Hash(p), d.ID())); err != nil {
			return err
		}
		s.at("unseen")
		day := filepath.Dir(d.Path())
		if err := os.Rename(d.Path(), gone); err != nil {
			return err
		}
		s.at("gone")
		_ = os.Remove(day) // unless other runs are in it
		if err := durable.SyncAll(nil, filepath.Dir(day)); err != nil || key == "" {
			return err
		}
		return durable.Remove(s.index.Key(record.Hash(p), key))
	})
	if err != nil {
		return err
	}
	s.at("forgotten")
	return os.RemoveAll(gone)
}
