// Package growth shows that a journal has grown and not changed, to somebody who has
// not got it: who keeps the journal tells the hashes of the entries that came to it,
// and who knew it before computes by them the tree that there must be now.
//
// # Limits
//
// Who tells can tell of another journal than the one that is kept; that is found when
// the journal is verified against what was told. Entries aren't checked here, either:
// audit does that.
package growth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/sumdb/tlog"

	"paddock/internal/journal"
)

// MostLeaves is how many entries are told of at once. Of more the next ones are told
// when somebody asks again.
const MostLeaves = 20_000

// ErrEmpty is the error of a journal that has no entry yet.
var ErrEmpty = errors.New("the journal has no entry")

// Told is how far a journal has come.
type Told struct {
	Journal string `json:"journal"`
	Size    int64  `json:"size"`
	// Hash is the tree's, in base 64.
	Hash string `json:"hash"`
	// Frontier is the tree, for who knew nothing.
	Frontier []string `json:"frontier,omitempty"`
	// Leaves are the hashes of the entries after those that were known, in base 64.
	Leaves []string `json:"leaves,omitempty"`
	// Missing is set where those aren't all there: their segments were moved away.
	Missing bool `json:"missing,omitempty"`
	// Note is a signed checkpoint that says the same, Key the public key.
	Note string `json:"note"`
	Key  string `json:"key"`
}

// Statement is what a checkpoint of it says.
func (t *Told) Statement() (journal.Statement, error) {
	hash, err := decode(t.Hash)
	if err == nil && !journal.ValidID(t.Journal) {
		err = errors.New("the journal's id isn't one")
	}
	return journal.Statement{Journal: t.Journal, Size: t.Size, Hash: hash}, err
}

// Since tells how far the journal at dir has come since it had from entries; zero is
// who knows nothing. Only the segments that are needed for it are read.
func Since(ctx context.Context, dir string, from int64) (*Told, error) {
	segments, err := journal.Snapshot(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	g := &grower{Told: Told{Missing: from > 0}, from: from}
	begin := len(segments) - 1
	for ; begin >= 0 && from > 0; begin-- {
		first, err := firstOf(segments[begin])
		if err != nil {
			return nil, err
		}
		if first > 0 && first <= from+1 {
			g.Missing = false
			break
		}
	}
	for _, s := range segments[max(0, begin):] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := journal.ScanSegment(s, g.take); err != nil && !errors.Is(err, errEnough) {
			return nil, fmt.Errorf("%s: %w", s.Path, err)
		}
	}
	if g.tree == nil || g.tree.Size() == 0 {
		return nil, ErrEmpty
	}
	hash := g.tree.Hash()
	g.Size, g.Hash = g.tree.Size(), encode(hash)
	g.Missing = g.Missing && g.Size >= from // else it is shorter, which says more
	if from <= 0 || g.Missing {
		g.Leaves = nil
	}
	if from <= 0 {
		g.Frontier = g.tree.Frontier()
	}
	return &g.Told, nil
}

// firstOf is the number of the first whole entry of a segment; zero if it has none.
func firstOf(s journal.Segment) (seq int64, err error) {
	err = journal.ScanSegment(s, func(l journal.Line) error {
		e, err := l.Entry()
		if err != nil {
			return nil //nolint:nilerr // torn before the first one
		}
		seq = e.Seq
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return seq, err
}

var errEnough = errors.New("enough")

type grower struct {
	Told
	from int64
	tree *journal.Tree
}

// take adds a line, if it is an entry: what isn't is closed by a recovered entry, or
// found by an audit.
func (g *grower) take(l journal.Line) error {
	e, err := l.Entry()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if g.from > 0 && len(g.Leaves) == MostLeaves {
		return errEnough
	}
	switch {
	case e.Begin != nil:
		g.Journal = e.Begin.ID
	case e.Rotate != nil:
		g.Journal = e.Rotate.ID
	}
	if g.tree == nil {
		g.tree = &journal.Tree{}
		if e.Rotate != nil {
			if g.tree, err = journal.TreeOf(e.Seq-1, e.Rotate.Tree); err != nil {
				return err
			}
		}
	}
	hash := tlog.RecordHash(l.Bytes)
	g.tree.AddHash(hash)
	if g.from > 0 && g.tree.Size() > g.from {
		g.Leaves = append(g.Leaves, encode(hash))
	}
	return nil
}

func encode(h tlog.Hash) string { return base64.StdEncoding.EncodeToString(h[:]) }

func decode(text string) (tlog.Hash, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != tlog.HashSize {
		return tlog.Hash{}, errors.New("a hash isn't one")
	}
	return tlog.Hash(raw), nil
}

// Known is what is known of a journal that somebody else keeps. The zero Known is
// nothing.
type Known struct {
	Journal  string   `json:"journal"`
	Size     int64    `json:"size"`
	Hash     string   `json:"hash"`
	Frontier []string `json:"frontier"`
	Key      string   `json:"key"`
	// Note is the checkpoint that said so.
	Note string `json:"note"`
}

// mostSize is more entries than a journal can have, mostNote more bytes than a note with
// one signature has.
const (
	mostSize = 1 << 50
	mostNote = 2 << 10
)

// Grown is what is known when t was told. The error says why that can't be the journal
// that was known. Open returns what a note says that the key signed.
func (k Known) Grown(t *Told, open func(key, note string) (journal.Statement, error)) (Known, error) {
	says, err := t.Statement()
	switch {
	case err != nil:
		return k, err
	case t.Size < 1 || t.Size > mostSize:
		return k, fmt.Errorf("it tells of %d entries, and no journal has so many", t.Size)
	case len(t.Note) > mostNote || len(t.Key) > mostNote: // it is written down
		return k, fmt.Errorf("its key or what that signed is longer than %d bytes", mostNote)
	case k.Key != "" && t.Key != k.Key:
		return k, errors.New("another key signs for it than before")
	case k.Journal != "" && t.Journal != k.Journal:
		return k, fmt.Errorf("it is another journal: %s was known, and it tells of %s", k.Journal, t.Journal)
	}
	signed, err := open(t.Key, t.Note)
	switch {
	case err != nil:
		return k, fmt.Errorf("what it tells isn't signed by its key: %w", err)
	case signed != says:
		return k, errors.New("what it signed isn't what it tells")
	case t.Size < k.Size:
		return k, fmt.Errorf("it had %d entries and has %d: what came after was cut off, or it was put back from a copy", k.Size, t.Size)
	case t.Missing:
		return k, fmt.Errorf("the entries after the %d that were known aren't all there, so nothing shows that it only grew", k.Size)
	}
	tree, err := k.tree(t)
	if err != nil {
		return k, err
	}
	if tree.Size() != t.Size || tree.Hash() != says.Hash {
		return k, fmt.Errorf("the first %d entries aren't those that were known", k.Size)
	}
	return Known{t.Journal, t.Size, t.Hash, tree.Frontier(), t.Key, t.Note}, nil
}

// tree is the one that there must be now.
func (k Known) tree(t *Told) (*journal.Tree, error) {
	if k.Size == 0 {
		return journal.TreeOf(t.Size, t.Frontier)
	}
	tree, err := journal.TreeOf(k.Size, k.Frontier)
	if err != nil {
		return nil, err
	}
	if len(t.Leaves) > MostLeaves || int64(len(t.Leaves)) != t.Size-k.Size {
		return nil, fmt.Errorf("it tells of %d entries more with %d hashes", t.Size-k.Size, len(t.Leaves))
	}
	for _, leaf := range t.Leaves {
		hash, err := decode(leaf)
		if err != nil {
			return nil, err
		}
		tree.AddHash(hash)
	}
	return tree, nil
}

// Valid says what is wrong with what was known, if it was read from somewhere.
func (k Known) Valid() error {
	tree, err := journal.TreeOf(k.Size, k.Frontier)
	if err == nil {
		hash := tree.Hash()
		if encode(hash) != k.Hash || k.Size < 1 || k.Size > mostSize || !journal.ValidID(k.Journal) || k.Key == "" {
			err = errors.New("it isn't what is known of a journal")
		}
	}
	return err
}
