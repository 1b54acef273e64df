package stages

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"paddock"
	"paddock/internal/executor/stages/digests"
)

// inside is the binary that this program carries.
func inside() (Binary, error) {
	digest, err := paddock.ParseDigest(strings.TrimSpace(embeddedDigest))
	if err != nil {
		return Binary{}, fmt.Errorf("this program was built with a wrong digest of the supervisor inside it: %w", err)
	}
	return Binary{Digest: digest, content: embedded}, nil
}

// Place returns the path at which the binary can be executed. The one inside
// this program is written to a directory of its digest below dir, unless it is
// there. What is there is held to the digest, and replaced when it differs: a
// file is trusted for its content, not for its name.
func (b Binary) Place(ctx context.Context, dir string) (string, error) {
	if b.content == nil {
		return b.Path, nil
	}
	home := filepath.Join(dir, b.Digest.Hex())
	path := filepath.Join(home, name)
	if b.is(ctx, path) {
		return path, nil
	}
	if err := errors.Join(makeOwn(dir), makeOwn(home)); err != nil {
		return "", fmt.Errorf("the supervisor can't be unpacked: %w", err)
	}
	if err := write(path, b.content); err != nil {
		return "", fmt.Errorf("the supervisor can't be unpacked: %w", err)
	}
	if !b.is(ctx, path) {
		return "", fmt.Errorf("the supervisor %s isn't what was written there", path)
	}
	return path, nil
}

// is reports whether path is a file of ours alone with the binary's digest,
// which is made again when the file looks different. A link or a pipe in its
// place is not followed or waited for.
func (b Binary) is(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o700 || info.Size() != int64(len(b.content)) {
		return false
	}
	digest, err := digests.Of(path, filepath.Join(filepath.Dir(path), "digest.json")).Get(ctx)
	return err == nil && digest == b.Digest
}

// makeOwn makes a directory for its owner only; one that is there must be one.
func makeOwn(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s isn't a directory for its owner only", dir)
	}
	return err
}

// write puts an executable file at path in one step.
func write(path string, content []byte) (err error) {
	temp := path + "." + rand.Text()
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = errors.Join(f.Chmod(0o700), f.Sync()) // whatever the umask is
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}
