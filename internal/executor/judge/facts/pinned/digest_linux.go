package pinned

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/trust"
)

// fresh is how old the last change of a file must be for its digest to be
// remembered: within a tick of the kernel's clock, and within the coarser ones of
// some file systems, a file can change twice and look the same.
const fresh = 3 * time.Second

// most bounds the memory; a policy has far fewer executables.
const most = 4096

// A Memory remembers digests of files for as long as device, inode, size, mtime
// and ctime stay as they are. An mtime can be set at will, a ctime can't. The zero
// Memory is empty.
type Memory struct {
	// Now returns the time; nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	known map[trust.Identity]paddock.Digest // guarded by mu
}

func (m *Memory) recall(id trust.Identity) (paddock.Digest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.known[id]
	return d, ok
}

func (m *Memory) remember(id trust.Identity, d paddock.Digest, now time.Time) {
	if last := max(id.Mtime, id.Ctime); now.UnixNano()-last < fresh.Nanoseconds() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= most {
		m.known = make(map[trust.Identity]paddock.Digest)
	}
	m.known[id] = d
}

// Digest hashes file, which is open for reading, unless it was hashed before and
// looks the same since. It is an error if it changes meanwhile.
func (m *Memory) Digest(ctx context.Context, file *os.File) (paddock.Digest, error) {
	before, err := identity(file)
	if err != nil {
		return "", err
	}
	if d, ok := m.recall(before); ok {
		return d, nil
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	at := now() // before the reading: what comes later is younger than that
	d, err := sum(ctx, file, io.Discard)
	if err != nil {
		return "", err
	}
	after, err := identity(file)
	if err != nil {
		return "", err
	}
	if after != before {
		return "", errChanged
	}
	m.remember(before, d, at)
	return d, nil
}

var errChanged = errors.New("it was changed while it was read")

func identity(file *os.File) (trust.Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return trust.Identity{}, err
	}
	return trust.IdentityOf(&st), nil
}

// sum hashes what it reads of file, from its beginning, and writes the same bytes
// to w.
func sum(ctx context.Context, file *os.File, w io.Writer) (paddock.Digest, error) {
	h := sha256.New()
	buf := make([]byte, 1<<18)
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := file.ReadAt(buf, off)
		h.Write(buf[:n])
		off += int64(n)
		if _, err := w.Write(buf[:n]); err != nil {
			return "", err
		}
		if errors.Is(err, io.EOF) {
			return paddock.DigestOf([32]byte(h.Sum(nil))), nil
		}
		if err != nil {
			return "", err
		}
	}
}
