package retain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"paddock/internal/rundir/record/durable"
)

// reserveSize is room for what must be written before something can be removed: a
// few entries of the journal and a mark.
const reserveSize = 256 << 10

// Reserve keeps a little room of the disk, so that one that is full can be pruned.
// That there is none left isn't an error: then there is no reserve.
func (k *Keeper) Reserve() error {
	f, err := os.OpenFile(k.reserved(), os.O_WRONLY|os.O_CREATE|os.O_EXCL|durable.NoFollow, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, reserveSize))
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	gone := durable.Remove(k.reserved())
	if errors.Is(err, syscall.ENOSPC) {
		return gone
	}
	return errors.Join(err, gone)
}

// withReserve does what needs a little room, and gives it the reserve if there is
// none else. It must leave nothing when it fails.
func (k *Keeper) withReserve(do func() error) error {
	err := do()
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if there, existsErr := durable.Exists(k.reserved()); existsErr != nil || !there {
		return errors.Join(err, existsErr)
	}
	if err := durable.Remove(k.reserved()); err != nil {
		return err
	}
	return do()
}

func (k *Keeper) reserved() string { return filepath.Join(k.State.Path(), "prune.reserve") }
