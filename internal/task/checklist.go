// Package task keeps checklists: what an agent plans to do and how far it is, so
// that it can go on after its conversation was shortened or its server restarted, and
// so that a host can ask whether everything was dealt with.
//
// There is one checklist for each principal, in the state directory. It is changed
// under a lock, by as many processes as like, and replaced as a whole: after a crash
// it is as it was before a change or after it.
//
// # Limits
//
// The package doesn't ask whether a principal may; package app does. What an item
// says is a claim of whoever wrote it: nothing is checked, and the journal, which
// tells what was done, has no entry for it.
package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// Bounds of a checklist.
const (
	MostItems = 200  // items
	MostTitle = 500  // bytes
	MostNote  = 1000 // bytes
	mostKey   = 200  // bytes of an idempotency key
	mostKeys  = 32   // keys that are remembered, the newest
)

// A Status says how far an item is.
type Status string

// The statuses. From each every other can follow.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Done       Status = "done"
	Closed     Status = "closed" // given up; the note says why
)

// Statuses lists them in the order of a life.
func Statuses() []Status { return []Status{Pending, InProgress, Done, Closed} }

// An Item is one thing to do.
type Item struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Status    Status    `json:"status"`
	Note      string    `json:"note,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A Checklist is all items of one principal, oldest first.
type Checklist struct {
	Version   int               `json:"version"`
	Principal paddock.Principal `json:"principal"`
	Items     []Item            `json:"items"`
	// Made is how many items there ever were: ids aren't used again.
	Made int `json:"made"`
	// Keys are the idempotency keys of the newest additions, as digests.
	Keys []string `json:"keys,omitempty"`
}

// FileVersion implements durable.Versioned.
func (c *Checklist) FileVersion() int { return c.Version }

// Counts says how many items have each status.
func (c Checklist) Counts() map[Status]int {
	counts := map[Status]int{}
	for _, s := range Statuses() {
		counts[s] = 0
	}
	for _, i := range c.Items {
		counts[i.Status]++
	}
	return counts
}

// Complete reports whether every item is done or closed.
func (c Checklist) Complete() bool {
	return !slices.ContainsFunc(c.Items, func(i Item) bool { return i.Status != Done && i.Status != Closed })
}

// Checklists are those of one state directory.
type Checklists struct {
	shelf Shelf
	now   func() time.Time
}

// Open returns the checklists below a state directory.
func Open(state string, now func() time.Time) Checklists {
	return Checklists{NewShelf(state, "tasks"), now}
}

const suffix = ".json"

func fileOf(p paddock.Principal) string { return durable.HashOf(string(p.Kind), p.ID) + suffix }

// Get returns the checklist of p, which is empty if there is none.
func (c Checklists) Get(p paddock.Principal) (Checklist, error) {
	list := Checklist{}
	err := c.shelf.Read(fileOf(p), &list)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Checklist{Version: durable.Version, Principal: p, Items: []Item{}}, nil
	case err != nil:
		return Checklist{}, err
	case list.Principal != p:
		return Checklist{}, fmt.Errorf("%w: the checklist in %s is another's", paddock.ErrFault, fileOf(p))
	}
	return list, nil
}

// All returns every checklist that has items, in the order of their principals.
func (c Checklists) All() ([]Checklist, error) {
	entries, err := os.ReadDir(c.shelf.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Checklist
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), durable.TempPrefix) {
			continue
		}
		var list Checklist
		switch readErr := c.shelf.Read(e.Name(), &list); {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			err = errors.Join(err, readErr)
		case len(list.Items) > 0:
			all = append(all, list)
		}
	}
	slices.SortFunc(all, func(a, b Checklist) int {
		return strings.Compare(string(a.Principal.Kind)+a.Principal.ID, string(b.Principal.Kind)+b.Principal.ID)
	})
	return all, err
}

// Changed is when an item was changed last.
func (c Checklist) Changed() (at time.Time) {
	for _, i := range c.Items {
		if i.UpdatedAt.After(at) {
			at = i.UpdatedAt
		}
	}
	return at
}

// Prune forgets the checklists all of whose items are done or closed, and that stale says,
// and returns them, once tell has taken what goes. With a nil tell they stay. The next
// item of one is t1 again.
func (c Checklists) Prune(ctx context.Context, stale Stale, tell func([]Checklist) error) (gone []Checklist, err error) {
	err = c.shelf.Locked(ctx, func() error {
		all, err := c.All()
		all = slices.DeleteFunc(all, func(list Checklist) bool { return !list.Complete() })
		going := Old(stale, all, Checklist.Changed)
		if tell == nil || len(going) == 0 {
			gone = going
			return err
		}
		if failed := tell(going); failed != nil {
			return errors.Join(err, failed)
		}
		for _, list := range going {
			if failed := durable.Remove(filepath.Join(c.shelf.Dir(), fileOf(list.Principal))); failed != nil {
				return errors.Join(err, failed)
			}
			gone = append(gone, list)
		}
		return err
	})
	return gone, err
}

// Create appends an item for each title that isn't blank. Asking again with the same
// key, if it isn't empty, changes nothing.
func (c Checklists) Create(ctx context.Context, p paddock.Principal, titles []string, key string) (Checklist, error) {
	clean, err := checkTitles(titles)
	if err != nil {
		return Checklist{}, err
	}
	if len(key) > mostKey || !text(key) {
		return Checklist{}, paddock.Refused(paddock.InvalidRequest, "The idempotency key must be one line of at most %d bytes of text.", mostKey)
	}
	digest := durable.HashOf(append([]string{key}, clean...)...)
	return c.change(ctx, p, func(list *Checklist) error {
		if key != "" && slices.Contains(list.Keys, digest) {
			return nil
		}
		if len(list.Items)+len(clean) > MostItems {
			r := paddock.Refused(paddock.LimitExceeded, "The checklist has %d items and would have %d; at most %d are kept.", len(list.Items), len(list.Items)+len(clean), MostItems)
			r.Gate, r.Hint = "", "Put several steps into one item, or have the list cleared when it is complete."
			return r
		}
		now := c.now()
		for _, title := range clean {
			list.Made++
			list.Items = append(list.Items, Item{ID: "t" + strconv.Itoa(list.Made), Title: title, Status: Pending, CreatedAt: now, UpdatedAt: now})
		}
		if key != "" {
			list.Keys = append(list.Keys, digest)
			list.Keys = list.Keys[max(0, len(list.Keys)-mostKeys):]
		}
		return nil
	})
}

// A Change is what becomes of one item.
type Change struct {
	ID     string
	Status Status
	// Note, if it isn't empty, takes the place of the one before. Closed needs one.
	Note string
}

// Update changes one item.
func (c Checklists) Update(ctx context.Context, p paddock.Principal, change Change) (Checklist, error) {
	note := strings.TrimSpace(change.Note)
	switch {
	case !slices.Contains(Statuses(), change.Status):
		return Checklist{}, paddock.Refused(paddock.InvalidRequest, "There is no status %.40q; there are pending, in_progress, done and closed.", change.Status)
	case len(note) > MostNote || !utf8.ValidString(note) || strings.ContainsFunc(note, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return Checklist{}, paddock.Refused(paddock.InvalidRequest, "A note is at most %d bytes of text without control characters.", MostNote)
	}
	return c.change(ctx, p, func(list *Checklist) error {
		at := slices.IndexFunc(list.Items, func(i Item) bool { return i.ID == change.ID })
		if at < 0 {
			return unknown(list, change.ID)
		}
		item := &list.Items[at]
		if note == "" && change.Status == Closed && (item.Status != Closed || item.Note == "") {
			r := paddock.Refused(paddock.InvalidRequest, "To close %s without doing it needs a note that says why.", item.ID)
			r.Hint = "Give a note, or say done if it was done."
			return r
		}
		if note != "" {
			item.Note = note
		}
		item.Status, item.UpdatedAt = change.Status, c.now()
		return nil
	})
}

// Clear forgets all items. Their ids aren't used again.
func (c Checklists) Clear(ctx context.Context, p paddock.Principal) (Checklist, error) {
	return c.change(ctx, p, func(list *Checklist) error {
		list.Items, list.Keys = []Item{}, nil
		return nil
	})
}

func (c Checklists) change(ctx context.Context, p paddock.Principal, do func(*Checklist) error) (Checklist, error) {
	var list Checklist
	err := c.shelf.Locked(ctx, func() (err error) {
		if list, err = c.Get(p); err != nil {
			return err
		}
		if err := do(&list); err != nil {
			return err
		}
		return c.shelf.Write(fileOf(p), list)
	})
	if err != nil {
		return Checklist{}, err
	}
	return list, nil
}

func unknown(list *Checklist, id string) error {
	if len(list.Items) == 0 {
		r := paddock.Refused(paddock.NotFound, "The checklist is empty, so it has no item %.40q.", id)
		r.Hint = "Make items with tasks_create (`paddock tasks create`) first."
		return r
	}
	var ids []string
	for _, i := range list.Items {
		ids = append(ids, i.ID)
	}
	r := paddock.Refused(paddock.NotFound, "The checklist has no item %.40q.", id)
	r.Hint = "Its items are " + strings.Join(ids, ", ") + "."
	return r
}

func checkTitles(titles []string) ([]string, error) {
	var out []string
	for i, title := range titles {
		title = strings.TrimSpace(title)
		if title == "" {
			continue
		}
		if len(title) > MostTitle || !text(title) {
			return nil, paddock.Refused(paddock.InvalidRequest, "Title %d must be one line of at most %d bytes of text.", i+1, MostTitle)
		}
		out = append(out, title)
	}
	switch {
	case len(out) == 0:
		return nil, paddock.Refused(paddock.InvalidRequest, "There is no title; want at least one that isn't blank.")
	case len(out) > MostItems:
		return nil, paddock.Refused(paddock.InvalidRequest, "There are %d titles; a checklist has at most %d items.", len(out), MostItems)
	}
	return out, nil
}

// text reports whether s is one line that can be shown.
func text(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }
