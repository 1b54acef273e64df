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
// while it is hashLag behind: small outputs never start one, and of an abandoned Bank it ends
// with its block. It has what others leave of the processors; who seals doesn't wait
// for it but goes on from the last block that it made.
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
	marked atomic.Pointer[os.File] // where they are, if there are any
	behind atomic.Bool             // set with mu held

	size    atomic.Int64 // bytes in the file
	dropped atomic.Int64
	losing  sync.Mutex
	loss    *paddock.Loss // guarded by losing

	follows atomic.Bool              // a goroutine does, or did and can't
	over    atomic.Bool              // it is to end
	reached atomic.Pointer[progress] // nil when somebody seals
	hashed  atomic.Int64             // how far that is
}

// progress is how far the digest has come. What a pointer leads to never changes: who follows
// may get no processor for as long as others keep them busy, so nobody waits for him, neither
// for a lock nor for his end, and who seals goes on from here.
type progress struct {
	hash  hash.Cloner
	marks *marks.Writer // nil as long as who appends makes them
	at    int64
}

// init makes k the stream in f, which is at path.
func (k *kept) init(f file, path string) {
	k.f, k.open = f, true
	k.reached.Store(&progress{hash: sha256.New().(hash.Cloner)}) //nolint:errcheck // it is one
	// Who goes on where another stopped may open it, too.
	k.marks.Open = sync.OnceValues(func() (io.WriterAt, error) {
		w, err := os.OpenFile(marks.Name(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
		if err != nil {
			return nil, err
		}
		k.marked.Store(w)
		return w, nil
	})
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
	if size-k.hashed.Load() >= hashLag && k.follows.CompareAndSwap(false, true) {
		go k.follow()
	}
}

func (k *kept) follow() {
	leisure.GiveWay()
	buf := make([]byte, hashBlock)
	for {
		for k.size.Load()-k.hashed.Load() >= hashBlock {
			if !k.step(buf) {
				return // and nobody follows any more
			}
		}
		k.follows.Store(false)
		// Who wrote meanwhile may have seen that somebody follows.
		if k.size.Load()-k.hashed.Load() < hashLag || !k.follows.CompareAndSwap(false, true) {
			return
		}
	}
}

// step goes on by a block, unless somebody seals, or can't wait to close.
func (k *kept) step(buf []byte) bool {
	from := k.reached.Load()
	if from == nil || k.over.Load() {
		return false
	}
	to, err := k.after(from, buf)
	if err != nil || !k.reached.CompareAndSwap(from, to) { // who seals will meet the error
		return false
	}
	k.hashed.Store(to.at)
	return true
}

// after is what is reached with one more block. It reads the file back, so the digest is of
// what is there and not of what was meant. It changes nothing of from.
func (k *kept) after(from *progress, buf []byte) (*progress, error) {
	p := buf[:min(k.size.Load()-from.at, int64(len(buf)))]
	if n, err := k.f.ReadAt(p, from.at); n < len(p) {
		return nil, fmt.Errorf("making the digest at byte %d: %w", from.at+int64(n), err)
	}
	hashed, err := from.hash.Clone()
	if err != nil {
		return nil, fmt.Errorf("making the digest: %w", err)
	}
	hashed.Write(p)
	to := &progress{hashed, from.marks, from.at + int64(len(p))}
	if k.behind.Load() {
		if to.marks == nil {
			to.marks = &k.marks // nobody else adds to them since
		}
		m := *to.marks
		m.Continue(p, from.at)
		to.marks = &m
	}
	return to, nil
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
	k.over.Store(true)
}

// summary completes the digest. The stream is shut, and nobody summed it up before.
func (k *kept) summary() (paddock.StreamSummary, error) {
	sum := paddock.StreamSummary{Bytes: k.size.Load(), Dropped: k.dropped.Load(), Loss: k.lost()}
	at := k.reached.Swap(nil) // whatever is being made of it is thrown away
	var buf []byte
	var err error
	for at.at < sum.Bytes {
		if buf == nil {
			buf = make([]byte, min(sum.Bytes-at.at, hashBlock))
		}
		if at, err = k.after(at, buf); err != nil {
			return sum, err
		}
	}
	sum.Digest = paddock.DigestOf([32]byte(at.hash.Sum(nil)))
	return sum, nil
}

// close lets go of the files. The stream is shut.
func (k *kept) close() error {
	err := k.f.Close()
	if marked := k.marked.Load(); marked != nil {
		err = errors.Join(err, marked.Close())
	}
	return err
}
