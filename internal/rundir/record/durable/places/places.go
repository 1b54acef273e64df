// Package places has what the state directory keeps for a root: the private home
// directories of its commands, and the lock of those who change it by hand.
//
// # Limits
//
// It knows no runs, and removes nothing: a home stays as long as its root may be
// used again.
package places

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// The directories below the state directory.
const (
	Homes = "homes"
	Roots = "roots"
)

// Places are those of one state directory, which is there.
type Places struct {
	// State is the real path of the state directory.
	State string
}

// Home returns the private home directory for the commands of one root and
// makes it where it is missing.
func (p Places) Home(root string) (string, error) {
	home := filepath.Join(p.State, Homes, durable.HashOf(root))
	if err := durable.MakeDir(home); err != nil {
		return "", err
	}
	return home, nil
}

// HomeOf is Home for commands that run as another account, without mounts by
// which ours would be theirs: the directory is the account's, and others may
// pass through the state directory, though see nothing in it.
func (p Places) HomeOf(root string, account paddock.Account) (string, error) {
	homes := filepath.Join(p.State, Homes)
	home := filepath.Join(homes, fmt.Sprintf("%s.%d", durable.HashOf(root), account.UID))
	err := durable.MakeDir(home)
	if err == nil {
		err = os.Lchown(home, int(account.UID), int(account.GID))
	}
	return home, errors.Join(err, passable(p.State), passable(homes))
}

// passable lets others through a directory.
func passable(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Perm()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// LockRoot takes the lock of those who change the root by hand; nil when
// somebody else has it. Closing the file lets go of it.
func (p Places) LockRoot(root string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	name := filepath.Join(p.State, Roots, durable.HashOf(root))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	got, err := durable.Lock(f)
	if err != nil || !got {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
