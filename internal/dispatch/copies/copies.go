// Package copies keeps what directories said of runs that are over in the store, so that a
// page of a list reads a row of each run instead of its files.
//
// # Limits
//
// A copy counts for nothing: it is believed only in lists, only while the run's directory
// has the time that it had then, and is made again where there is none. Whether a record
// may be copied at all is package shelf's to say. Copies have a sum that only this server's
// key makes, so that who owns the database can remove them and can't change them; older ones
// of the same directory's time he can bring back.
package copies

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json/v2"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir"
	"paddock/internal/store"
)

const (
	// most is how many wait to be written down; more are copied when they are read again.
	most = 2000
	// swept is how many of the newest runs are looked at after some have ended.
	swept, page = 1000, 50
)

// resting is how long after its end a run is copied: until then its journal and who waited
// for it have made their notes, which would make a copy stale.
const resting = 3 * time.Second

// A Keeper keeps copies. It must be made with [New]. Its methods may be called concurrently.
type Keeper struct {
	store store.Copies
	key   [sha256.Size]byte
	warns func(error)
	taken chan struct{} // holds a token while something is to be written down

	mu    sync.Mutex
	fresh map[paddock.RunID]store.Copy // not written down yet; guarded by mu
}

// keyType is what is signed for the key of the sums, which nobody else is ever shown.
const keyType = "application/vnd.paddock.copies"

// New returns a Keeper in a store, of who has the key. It tells warn what the store doesn't
// do; nil is nobody.
func New(s store.Copies, key *sign.Key, warn func(error)) *Keeper {
	k := &Keeper{store: s, warns: warn, taken: make(chan struct{}, 1)}
	for _, signed := range key.Seal(keyType, nil).Signatures {
		k.key = sha256.Sum256([]byte(signed.Sig))
	}
	return k
}

// form is before each copy: those of another version of the program, whose records have
// other fields, are none. Its number is raised when the same files are read otherwise.
var form = sync.OnceValue(func() string {
	sum := fnv.New64a()
	describe(reflect.TypeFor[paddock.Run](), map[reflect.Type]bool{}, func(word string) { _, _ = sum.Write([]byte(word + "\n")) })
	return fmt.Sprintf("2 %016x\n", sum.Sum64())
})

// describe tells of everything that is kept of a type.
func describe(t reflect.Type, known map[reflect.Type]bool, tell func(string)) {
	if tell(t.String() + " " + t.Kind().String()); known[t] {
		return
	}
	known[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		describe(t.Elem(), known, tell)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				tell(f.Name + " " + string(f.Tag))
				describe(f.Type, known, tell)
			}
		}
	}
}

// Encode is the copy of a run that was read when its directory was seen so.
func (k *Keeper) Encode(at rundir.Seen, run *paddock.Run) (store.Copy, error) {
	text, err := json.Marshal(run, json.Deterministic(true))
	c := store.Copy{Run: at.ID, Stamp: at.Changed.UnixNano()}
	c.Record = slices.Concat([]byte(form()), k.sum(c, text), text)
	return c, err
}

// sum is what shows that we made the copy, of this run at this time.
func (k *Keeper) sum(c store.Copy, text []byte) []byte {
	sum := hmac.New(sha256.New, k.key[:])
	fmt.Fprintf(sum, "%s\n%d\n%s", c.Run, c.Stamp, form()) // a hash takes everything
	sum.Write(text)
	return sum.Sum(nil)
}

func (k *Keeper) decode(c store.Copy) (*paddock.Run, error) {
	rest, ours := bytes.CutPrefix(c.Record, []byte(form()))
	if !ours || len(rest) < sha256.Size || !hmac.Equal(rest[:sha256.Size], k.sum(c, rest[sha256.Size:])) {
		return nil, nil //nolint:nilnil // it is of another version or another key, and so none
	}
	run := &paddock.Run{}
	return run, json.Unmarshal(rest[sha256.Size:], run)
}

// During are the copies as one request sees them.
func (k *Keeper) During(ctx context.Context) rundir.Copies { return &during{k: k, ctx: ctx} }

type during struct {
	k     *Keeper
	ctx   context.Context
	taken int
}

// Of implements [rundir.Copies]. What can't be read is no copy.
func (d *during) Of(seen []rundir.Seen) map[paddock.RunID]*paddock.Run {
	ids, at := make([]paddock.RunID, len(seen)), make(map[paddock.RunID]time.Time, len(seen))
	for i, s := range seen {
		ids[i], at[s.ID] = s.ID, s.Changed
	}
	found, err := d.k.store.Copies(d.ctx, ids)
	if err != nil {
		d.k.warn(d.ctx, err)
		return nil
	}
	runs := make(map[paddock.RunID]*paddock.Run, len(found))
	for _, c := range found {
		if changed, asked := at[c.Run]; !asked || changed.UnixNano() != c.Stamp {
			continue
		}
		run, err := d.k.decode(c)
		if err != nil {
			d.k.warn(d.ctx, fmt.Errorf("the copy of run %s: %w", c.Run, err))
		} else if run != nil {
			runs[c.Run] = run
		}
	}
	return runs
}

// Take implements [rundir.Copies].
func (d *during) Take(at rundir.Seen, run *paddock.Run) {
	c, err := d.k.Encode(at, run)
	if err != nil {
		d.k.warn(d.ctx, fmt.Errorf("copying run %s: %w", at.ID, err))
		return
	}
	if len(c.Record) > store.MostRecord || c.Stamp <= 0 {
		return // it is read each time; the store would take none of those beside it
	}
	d.k.mu.Lock()
	defer d.k.mu.Unlock()
	if len(d.k.fresh) >= most {
		return
	}
	if d.k.fresh == nil {
		d.k.fresh = map[paddock.RunID]store.Copy{}
	}
	d.taken++
	d.k.fresh[at.ID] = c
	select {
	case d.k.taken <- struct{}{}:
	default:
	}
}

// Write writes down what was taken.
func (k *Keeper) Write(ctx context.Context) {
	k.mu.Lock()
	var some []store.Copy
	for _, c := range k.fresh {
		some = append(some, c)
	}
	k.fresh = nil
	k.mu.Unlock()
	if len(some) > 0 {
		k.warn(ctx, k.store.PutCopies(ctx, some))
	}
}

// A Lister lists runs. *app.App is one.
type Lister interface {
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
}

// server is who looks at all runs to copy them.
var server = paddock.Principal{Kind: paddock.Operator, ID: "server"}

// Sweep takes the newest runs that aren't copied, down to a page on which all are that are
// over, and writes them down.
func (k *Keeper) Sweep(ctx context.Context, l Lister) {
	var at paddock.RunID
	for n := 0; n < swept && ctx.Err() == nil; n += page {
		d := &during{k: k, ctx: ctx}
		list, err := l.List(ctx, server, app.Filter{Before: at, Limit: page, Looks: 1, Copies: d})
		if err != nil && len(list.Runs) == 0 {
			k.warn(ctx, err)
			break
		}
		over := false
		for _, run := range list.Runs {
			over = over || run.State.Settled()
		}
		if at = list.Next; at == "" || over && d.taken == 0 {
			break
		}
	}
	k.Write(ctx)
}

// Keep sweeps a while after told says so, or something was taken, until ctx ends.
func (k *Keeper) Keep(ctx context.Context, l Lister, told func() <-chan struct{}) {
	for ended := told(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ended:
		case <-k.taken:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(resting):
		}
		ended = told() // before it looks, so that nothing is missed
		k.Sweep(ctx, l)
	}
}

func (k *Keeper) warn(ctx context.Context, err error) {
	if err != nil && k.warns != nil && ctx.Err() == nil {
		k.warns(fmt.Errorf("lists are read from directories instead: %w", err))
	}
}
