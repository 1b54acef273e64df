package pinned

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"paddock"
)

// ErrNoLease says that the file system gives no leases.
var ErrNoLease = errors.New("its file system gives no leases")

// Hold takes a read lease on file, which must be ours and open for reading: it
// fails while anybody has the file open for writing, and lets nobody open it so
// until every descriptor of this file description is closed.
func Hold(file *os.File) error {
	_, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return errors.New("it is open for writing, so its bytes can change")
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOLCK):
		return ErrNoLease
	case err != nil:
		return fmt.Errorf("it can't be kept from being written: %w", err)
	}
	// The kernel would tell us of writers by a signal that nobody here waits for.
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETOWN, 0)
	return err
}

// MostCopied bounds what is copied. Scripts are written by people.
const MostCopied = 16 << 20

// Copy returns a copy of file, which is open for reading, and the digest of the
// very bytes that are in it. Nobody can change the copy any more.
func Copy(ctx context.Context, file *os.File) (*os.File, paddock.Digest, error) {
	fd, err := unix.MemfdCreate("paddock-pinned", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("paddock-pinned", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, "", err
	}
	sealed := os.NewFile(uintptr(fd), file.Name())
	digest, err := sum(ctx, file, &bounded{sealed, MostCopied})
	if err == nil {
		_, err = unix.FcntlInt(sealed.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, "", errors.Join(err, sealed.Close())
	}
	return sealed, digest, nil
}

type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("it is larger than %d MiB, too large for a copy", MostCopied>>20)
	}
	return b.w.Write(p)
}
