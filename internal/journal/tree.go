package journal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// A Tree is the Merkle tree (RFC 6962) of entries, as far as it is needed to add
// one and to say its hash: the roots of its whole subtrees, largest first. Its
// memory grows with the logarithm of the entries. The zero Tree is empty.
type Tree struct {
	size  int64
	roots []tlog.Hash
}

// Size returns the number of entries.
func (t *Tree) Size() int64 { return t.size }

// Add adds the line of an entry, without its end.
func (t *Tree) Add(line []byte) { t.AddHash(tlog.RecordHash(line)) }

// AddHash adds the entry whose line has this hash.
func (t *Tree) AddHash(hash tlog.Hash) {
	// Each one at the end of the size's binary form is a subtree that is whole now.
	for range bits.TrailingZeros64(^uint64(t.size)) {
		last := len(t.roots) - 1
		hash = tlog.NodeHash(t.roots[last], hash)
		t.roots = t.roots[:last]
	}
	t.roots = append(t.roots, hash)
	t.size++
}

// Hash returns the tree's hash; that of the empty tree is zero.
func (t *Tree) Hash() tlog.Hash {
	if t.size == 0 {
		return tlog.Hash{}
	}
	hash := t.roots[len(t.roots)-1]
	for i := len(t.roots) - 2; i >= 0; i-- {
		hash = tlog.NodeHash(t.roots[i], hash)
	}
	return hash
}

// Frontier returns the roots in base 64.
func (t *Tree) Frontier() []string {
	words := []string{}
	for _, hash := range t.roots {
		words = append(words, base64.StdEncoding.EncodeToString(hash[:]))
	}
	return words
}

// TreeOf makes the tree of size entries that has this frontier.
func TreeOf(size int64, words []string) (*Tree, error) {
	if size < 0 || len(words) != bits.OnesCount64(uint64(size)) {
		return nil, fmt.Errorf("%d hashes aren't the frontier of %d entries", len(words), size)
	}
	t := &Tree{size: size}
	for _, word := range words {
		raw, err := base64.StdEncoding.Strict().DecodeString(word)
		if err != nil || len(raw) != tlog.HashSize {
			return nil, errors.New("a hash of the frontier isn't one")
		}
		t.roots = append(t.roots, tlog.Hash(raw))
	}
	return t, nil
}
