package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/artifact/leisure"
	"paddock/internal/artifact/pages/moment/marks"
	"paddock/internal/failpoint"
)

// The digest follows the file in blocks of hashBlock, on a thread that lives only
// while it is hashLag behind: small outputs never start one, and an abandoned Bank
// leaves none. It has what others leave of the processors; who seals doesn't wait
// for it but goes on where it stopped.
const (
	hashBlock = 128 << 10
	hashLag   = 1 << 20
)

// kept is one stream of a Bank.
type kept struct {
	mu   sync.Mutex // held while writing, so that bytes keep their order
	f    file
	open bool
	// failed is why the last bytes couldn't be kept; guarded by mu.
	failed error

	// marks are those of the lines: whoever appends makes them until something was
	// kept unseen, and then whoever makes the digest.
	marks  marks.Writer
	marked *os.File    // where they are, if there are any
	behind atomic.Bool // set with mu held

	size    atomic.Int64 // bytes in the file
	dropped atomic.Int64
	losing  sync.Mutex
	loss    *paddock.Loss // guarded by losing

	follows bool           // a goroutine owns what follows; guarded by mu
	hashing sync.WaitGroup // that goroutine
	gone    atomic.Bool    // the digest isn't wanted any more
	sealing atomic.Bool    // it is wanted now
	hash    hash.Hash
	hashed  atomic.Int64
	buf     []byte
	hashErr error
}

// init makes k the stream in f, which is at path.
func (k *kept) init(f file, path string) {
	k.f, k.open, k.hash = f, true, sha256.New()
	k.marks.Open = func() (w io.WriterAt, err error) {
		k.marked, err = os.OpenFile(marks.Name(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
		return k.marked, err
	}
}

// write appends p to the file; mu is held. It goes by the file's own position:
// os.File.WriteAt doesn't count what it wrote before the disk was full.
func (k *kept) write(p []byte) (int, error) {
	var n int
	err := failpoint.At("output/write")
	if err == nil {
		n, err = k.f.Write(p)
	}
	if !k.behind.Load() {
		k.marks.Add(p[:n])
	}
	k.grew(n)
	return n, err
}

// grew says that the file has n bytes more; mu is held.
func (k *kept) grew(n int) {
	size := k.size.Add(int64(n))
	if !k.follows && size-k.hashed.Load() >= hashLag {
		k.follows = true
		k.hashing.Go(k.follow)
	}
}

func (k *kept) follow() {
	leisure.GiveWay()
	for k.catchUp(hashBlock) {
		k.mu.Lock()
		if k.gone.Load() || !k.open || k.size.Load()-k.hashed.Load() < hashLag {
			k.follows = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
	}
}

// catchUp hashes what is in the file until less than lag is left, or somebody seals
// who wants to go on himself. It reads the file back, so the digest is of what is
// there and not of what was meant.
func (k *kept) catchUp(lag int64) bool {
	for k.hashErr == nil && !k.gone.Load() {
		if lag > 0 && k.sealing.Load() {
			return true
		}
		left := k.size.Load() - k.hashed.Load()
		if left < max(lag, 1) {
			return true
		}
		if n := min(left, hashBlock); int64(len(k.buf)) < n {
			k.buf = make([]byte, n)
		}
		p := k.buf[:min(left, int64(len(k.buf)))]
		if n, err := k.f.ReadAt(p, k.hashed.Load()); n < len(p) {
			k.hashErr = fmt.Errorf("making the digest at byte %d: %w", k.hashed.Load()+int64(n), err)
			return false
		}
		k.hash.Write(p)
		if k.behind.Load() {
			k.marks.Continue(p, k.hashed.Load())
		}
		k.hashed.Add(int64(len(p)))
	}
	return false
}

// lose counts what isn't kept. The first loss says where it began and why.
func (k *kept) lose(l paddock.Loss, now time.Time) {
	k.losing.Lock()
	defer k.losing.Unlock()
	k.dropped.Add(l.Bytes)
	if k.loss == nil {
		l.Offset, l.First, l.Bytes = k.size.Load(), now, 0
		k.loss = &l
	}
	k.loss.Bytes, k.loss.Last = k.dropped.Load(), now
}

// lost returns what wasn't kept so far; nil if nothing.
func (k *kept) lost() *paddock.Loss {
	k.losing.Lock()
	defer k.losing.Unlock()
	if k.loss == nil {
		return nil
	}
	l := *k.loss
	return &l
}

func (k *kept) shut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = false
}

func (k *kept) abandon() { k.gone.Store(true) }

// summary completes the digest. The stream is shut.
func (k *kept) summary() (paddock.StreamSummary, error) {
	sum := paddock.StreamSummary{Bytes: k.size.Load(), Dropped: k.dropped.Load(), Loss: k.lost()}
	k.sealing.Store(true)
	k.hashing.Wait()
	if !k.catchUp(0) {
		return sum, k.hashErr
	}
	sum.Digest = paddock.DigestOf([32]byte(k.hash.Sum(nil)))
	return sum, nil
}

// close lets go of the files. The stream is shut.
func (k *kept) close() error {
	k.hashing.Wait()
	err := k.f.Close()
	if k.marked != nil {
		err = errors.Join(err, k.marked.Close())
	}
	return err
}
