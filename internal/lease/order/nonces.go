package order

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/rundir/record/durable"
)

// Key is the file of a state directory with the key by which its server signs orders; the
// public part, for workers, is beside it with the end .pub.
const Key = "orders.key"

// NoncesDir is where a state directory has the orders that were followed.
const NoncesDir = "nonces"

// Nonces are the orders that were followed on this machine: a file for each,
//
//	STATE/nonces/EXPIRES-NONCE
//
// which is there, on the disk, before anything is started by it.
type Nonces struct{ dir string }

// NoncesIn is the Nonces of the state directory at state.
func NoncesIn(state string) (Nonces, error) {
	dir := filepath.Join(state, NoncesDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Nonces{}, err
	}
	return Nonces{dir}, durable.SyncDir(state)
}

// Use notes that o is followed. ErrUsed says that it was before, or is by somebody
// else at this moment.
func (n Nonces) Use(o Order) error {
	name := filepath.Join(n.dir, strconv.FormatInt(o.Expires.Unix(), 10)+"-"+o.Nonce)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrUsed
	}
	if err != nil {
		return err
	}
	// What is in it is for people; that it is there is what counts.
	_, err = fmt.Fprintln(f, o.Run)
	return errors.Join(err, f.Sync(), f.Close(), durable.SyncDir(n.dir))
}

// Forget removes those of orders that nobody would follow any more.
func (n Nonces) Forget(now time.Time) error {
	names, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		until, _, ok := strings.Cut(e.Name(), "-")
		at, err := strconv.ParseInt(until, 10, 64)
		if !ok || err != nil || now.Before(time.Unix(at, 0).Add(2*Skew)) {
			continue
		}
		if err := os.Remove(filepath.Join(n.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
