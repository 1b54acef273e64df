package notes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/journal"
)

// Of each principal this many refusals are told one by one in a window of time;
// the others are counted and told of together when it is over. The count is kept
// beside the journal, for all processes and beyond their ends.
const (
	window   = time.Minute
	oneByOne = 10
)

// A tally is a principal's window.
type tally struct {
	Principal paddock.Principal      `json:"principal"`
	From      time.Time              `json:"from"`
	Told      int                    `json:"told"`
	Codes     map[paddock.Code]int64 `json:"codes,omitempty"` // of those that weren't told
}

func (t tally) over(now time.Time) bool {
	return !now.Before(t.From.Add(window)) || now.Before(t.From) // or the clock was set
}

// entry tells of what wasn't told one by one.
func (t tally) entry() journal.Entry {
	p := t.Principal
	return journal.Entry{Kind: journal.Refusals, Principal: &p, Refusals: &journal.RefusalsDetail{
		From: t.From, To: t.From.Add(window), Codes: t.Codes,
	}}
}

// Refused tells of a refusal, or counts it.
func (n *Notes) Refused(ctx context.Context, req paddock.Request, policy paddock.Digest, r *paddock.Refusal) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	e := journal.RefusalOf(req, policy, r)
	root := e.Principal.Root() // its delegates are new principals as often as it likes
	path := n.tallyPath(root)
	err := n.withPolicy(ctx, policy, func() ([]journal.Entry, error) {
		now := n.now().UTC()
		t, err := readTally(path)
		if err != nil {
			return nil, err
		}
		var entries []journal.Entry
		if t == nil || t.over(now) {
			if t != nil && len(t.Codes) > 0 {
				entries = append(entries, t.entry())
			}
			t = &tally{Principal: root, From: now}
		}
		if t.Told < oneByOne {
			t.Told++
			entries = append(entries, e)
		} else {
			if t.Codes == nil {
				t.Codes = map[paddock.Code]int64{}
			}
			t.Codes[r.Code]++
		}
		return entries, writeTally(path, *t)
	})
	// That nothing can be written down is what such a refusal says itself.
	if err != nil && r.Code != paddock.Unrecordable {
		n.warn(fmt.Errorf("a refusal couldn't be written down: %w", err))
	}
}

// Flush tells of the refusals, and of the reads, that were counted in windows that are
// over.
func (n *Notes) Flush(ctx context.Context) error {
	if err := n.glances(ctx, false); err != nil {
		return err
	}
	names, err := os.ReadDir(filepath.Join(n.dir, "rate"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil // the common case takes no lock
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(n.dir, "rate", name.Name())
		if t, err := readTally(path); err != nil || t != nil && !t.over(n.now().UTC()) {
			if err != nil {
				return err
			}
			continue
		}
		err := n.w.AppendWhere(ctx, func() ([]journal.Entry, error) {
			t, err := readTally(path)
			if err != nil || t == nil || !t.over(n.now().UTC()) {
				return nil, err // somebody else was first
			}
			if err := os.Remove(path); err != nil || len(t.Codes) == 0 {
				return nil, err
			}
			return []journal.Entry{t.entry()}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Notes) tallyPath(p paddock.Principal) string {
	sum := sha256.Sum256([]byte(string(p.Kind) + "\x00" + p.ID))
	return filepath.Join(n.dir, "rate", hex.EncodeToString(sum[:]))
}

// readTally returns nil when there is none. What a crash left of one counts as
// one that is over and has nothing to tell.
func readTally(path string) (*tally, error) {
	file, err := journal.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	var t tally
	if json.Unmarshal(text, &t) != nil {
		return &tally{}, nil //nolint:nilerr // what is torn counts from the beginning
	}
	return &t, nil
}

// writeTally isn't durable: a power cut may forget a minute's count.
func writeTally(path string, t tally) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := path + ".new" // we have the lock, so nobody else makes it
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
