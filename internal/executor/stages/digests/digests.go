// Package digests remembers which digest a binary has, over processes, for as long as the
// file looks the same.
//
// # Limits
//
// How a file looks is its device, inode, size and times: who may set the kernel's clock can
// have another look like it. What was remembered is believed, so the memory is for a
// directory of ours. On systems without supervisors there are none.
package digests

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"paddock"
)

// A Memory knows the digest of the binary at path. Hashing it takes longer than
// the rest of a short run, so what was found is remembered in a file for as
// long as the binary looks the same.
type Memory struct {
	path, memory string

	mu   sync.Mutex
	last *remembered // guarded by mu
}

// Of remembers the digest of the binary at path in the file memory. Neither need be there.
func Of(path, memory string) *Memory { return &Memory{path: path, memory: memory} }

// remembered says which file had which digest.
type remembered struct {
	Dev    uint64         `json:"dev"`
	Ino    uint64         `json:"ino"`
	Size   int64          `json:"size"`
	Mtime  int64          `json:"mtime_ns"`
	Ctime  int64          `json:"ctime_ns"`
	Digest paddock.Digest `json:"digest"`
}

func (r remembered) is(of *remembered) bool {
	if of == nil {
		return false
	}
	r.Digest = of.Digest
	return r == *of
}

// Get returns the digest, made again when the file looks different.
func (d *Memory) Get(ctx context.Context) (paddock.Digest, error) {
	f, err := os.Open(d.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := identify(f)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = d.recall()
	}
	if now.is(d.last) {
		return d.last.Digest, nil
	}
	if now.Digest, err = sum(ctx, f); err != nil {
		return "", err
	}
	d.last = &now
	d.remember(now)
	return now.Digest, nil
}

// recall reads the memory. One that can't be read is as good as none.
func (d *Memory) recall() *remembered {
	b, err := os.ReadFile(d.memory)
	if err != nil {
		return nil
	}
	var r remembered
	if json.Unmarshal(b, &r) != nil {
		return nil
	}
	if _, err := paddock.ParseDigest(string(r.Digest)); err != nil {
		return nil
	}
	return &r
}

// remember writes the memory in one step. Where that fails the next process
// hashes again: nothing else depends on it.
func (d *Memory) remember(r remembered) {
	b, err := json.Marshal(r)
	if err != nil {
		return
	}
	temp := d.memory + "." + rand.Text()
	if err := os.WriteFile(temp, b, 0o600); err == nil {
		err = os.Rename(temp, d.memory)
		if err == nil {
			return
		}
	}
	_ = os.Remove(temp)
}

func sum(ctx context.Context, r io.Reader) (paddock.Digest, error) {
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		_, err := io.CopyN(h, r, 1<<20)
		if errors.Is(err, io.EOF) {
			return paddock.DigestOf([32]byte(h.Sum(nil))), nil
		}
		if err != nil {
			return "", err
		}
	}
}
