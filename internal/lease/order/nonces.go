package order

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/internal/rundir/record/durable"
)

// Key is the file of a state directory with the key by which its server signs orders; the
// public part, for workers, is beside it with the end .pub.
const Key = "orders.key"

// NoncesDir is where a state directory has the orders that were followed.
const NoncesDir = "nonces"

const (
	// A line of a file of nonces has the nonce, a space, the run or to whom it was given,
	// more spaces and the end.
	line = 64
	// given begins what is in place of the run for an order that somebody else has.
	given, givenBytes = "to", 14
	// room is made in a file when it is full: to fill in what is there already is one
	// write to the disk, where to make the file longer is several.
	room = 1024 * line
	// span is how long the orders of one file end after each other.
	span = int64(3600)
	// files are how many files' nonces are remembered.
	files = 4
)

// Nonces are the orders that were followed on this machine, and of a server that signs them
// also those that it let others follow, as lines of files:
//
//	STATE/nonces/until-TIME    of the orders that end in the hour before then
//	STATE/nonces/noted         until when all were noted: what is younger was put back
//	STATE/nonces/complete-from since when all are, where that was found; what is older isn't followed
//
// A line is there, on the disk, before anything is started by its order. Behind the last
// one are zero bytes. Earlier versions had a file for each order, EXPIRES-NONCE, which are
// believed, too. Methods may be called concurrently, also by several processes.
type Nonces struct {
	dir string

	mu    sync.Mutex
	known map[string]*followed // by file; guarded by mu
	from  time.Time            // since when they are complete; guarded by mu
}

// followed is what was read of a file: all that was in it before end.
type followed struct {
	end    int64
	nonces map[string]string // whose each is
}

// abandoned is how old a file is that was to be put in place and that nobody is writing any
// more.
const abandoned = time.Minute

// NoncesIn is the Nonces of the state directory at state.
func NoncesIn(state string) (*Nonces, error) {
	dir := filepath.Join(state, NoncesDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	from, err := readTime(filepath.Join(dir, complete))
	if err != nil {
		return nil, err
	}
	return &Nonces{dir: dir, known: map[string]*followed{}, from: from}, durable.SyncDir(state)
}

// Use notes that o is followed. ErrUsed says that it was before, or is by somebody
// else at this moment.
func (n *Nonces) Use(o Order) error { return n.use(o, string(o.Run), false) }

// Give notes that o is followed by somebody else, to whom it may be said again. ErrUsed
// says that another has it, or that it is followed here.
func (n *Nonces) Give(o Order, to ...string) error {
	sum := sha256.New()
	for _, word := range to {
		fmt.Fprintf(sum, "%d %s", len(word), word) // a hash takes everything
	}
	return n.use(o, given+hex.EncodeToString(sum.Sum(nil)[:givenBytes]), true)
}

// use notes whose o is from now on; again is whether they may hear it twice.
func (n *Nonces) use(o Order, whose string, again bool) error {
	// What was followed by an earlier version.
	_, err := os.Lstat(filepath.Join(n.dir, strconv.FormatInt(o.Expires.Unix(), 10)+"-"+o.Nonce))
	if err == nil {
		return ErrUsed
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if o.Made.Before(n.from) {
		return fmt.Errorf("%w (what was queued before %s isn't followed)", ErrForgotten, n.from.UTC().Format(time.RFC3339))
	}
	name := "until-" + strconv.FormatInt((o.Expires.Unix()/span+1)*span, 10)
	f, err := os.OpenFile(filepath.Join(n.dir, name), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(n.note(f, name, o, whose, again), f.Close()) // which lets go of the lock
}

// note adds the order to a file, which others may be adding to.
func (n *Nonces) note(f *os.File, name string, o Order, whose string, again bool) error {
	if err := lock(f); err != nil {
		return err
	}
	have := n.known[name]
	if have == nil {
		if len(n.known) >= files {
			clear(n.known)
		}
		have = &followed{nonces: map[string]string{}}
		n.known[name] = have
	}
	if err := have.read(f); err != nil {
		return err
	}
	switch is, there := have.nonces[o.Nonce]; {
	case there && again && is == whose:
		return syncData(f) // who wrote it may have died before
	case there:
		return ErrUsed
	}
	if err := n.extend(f, have.end); err != nil {
		return err
	}
	text := fmt.Appendf(nil, "%.32s %.30s", o.Nonce, whose)
	text = append(append(text, bytes.Repeat([]byte{' '}, line-1-len(text))...), '\n')
	if _, err := f.WriteAt(text, have.end); err != nil {
		return err
	}
	return syncData(f)
}

// read takes in what was added since. Bytes that are no line are somebody's who died
// while he wrote, and followed nothing.
func (h *followed) read(f *os.File) error {
	var text [line]byte
	for {
		_, err := f.ReadAt(text[:], h.end)
		if errors.Is(err, io.EOF) || err == nil && text[0] == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if nonce, whose, ok := bytes.Cut(text[:], []byte{' '}); ok {
			h.nonces[string(nonce)] = strings.TrimRight(string(whose), " \n")
		}
		h.end += line
	}
}

// extend sees to it that there is room for a line at the offset.
func (n *Nonces) extend(f *os.File, at int64) error {
	is, err := f.Stat()
	if err != nil || is.Size() >= at+line {
		return err
	}
	if _, err := f.WriteAt(make([]byte, room), at); err != nil {
		return err
	}
	return errors.Join(f.Sync(), durable.SyncDir(n.dir))
}

// Forget removes those of orders that nobody would follow any more, and what somebody left
// who was ended while he wrote down a time.
func (n *Nonces) Forget(now time.Time) error {
	if err := durable.SweepNew(n.dir, abandoned); err != nil {
		return err
	}
	names, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		until, _, ok := strings.Cut(strings.TrimPrefix(e.Name(), "until-"), "-")
		at, err := strconv.ParseInt(until, 10, 64)
		if !(ok || strings.HasPrefix(e.Name(), "until-")) || err != nil || now.Before(time.Unix(at, 0).Add(2*Skew)) {
			continue
		}
		if err := os.Remove(filepath.Join(n.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
