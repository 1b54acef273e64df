package git

import (
	"context"

	"paddock/internal/git/query"
	"paddock/internal/git/repository"
)

// within refuses to read a working tree where git would read outside of it: an index can have names
// that lead there, and in the place of a directory that git tracks files in there can be a link. A search follows
// both, whatever contains it. A diff follows names, and links for what is of the size and time that the index has of it; a
// status tells of what names lead to whether it is as the index says. Of these two containment keeps all that is outside.
func (s session) within(ctx context.Context, name string) error {
	_, search := s.ask.Query.(query.Grep)
	_, status := s.ask.Query.(query.Status)
	if !s.ask.Query.Worktree() || !search && !s.place.Writable {
		return nil
	}
	dirs, err := s.tracked(ctx, name)
	switch {
	case err != nil:
		return err
	case status:
		return repository.Local(dirs)
	}
	return s.look.Directories(ctx, dirs)
}

// tracked returns the directories that git tracks files in at name or below it.
func (s session) tracked(ctx context.Context, name string) ([]string, error) {
	if dirs, told := s.look.Tracked(name); told {
		return dirs, nil
	}
	return s.Directories(ctx, s.place.Command(query.ListFiles{In: name}.Args(nil, name), nil)) // of the root, where it is started
}
