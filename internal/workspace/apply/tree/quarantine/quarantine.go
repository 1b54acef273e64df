// Package quarantine watches over the places of a root that other tools would
// execute or obey, where nothing keeps a run from them: it looks before the run
// and after it, moves what appeared out of the root, and tells.
//
// All of it is in the run's directory:
//
//	before.json            what there was before; until the run is over
//	quarantine/list.json   what was, or is about to be, moved
//	quarantine/1 …         and that
//
// The list is written before anything is moved: whoever finds the run without
// its supervisor goes on from there.
//
// # Limits
//
// What was there before and was changed can't be had back, so it is only told.
// Whoever else wrote to the root meanwhile isn't told from the run. Between two file
// systems things are copied, up to a bound; extended attributes, access control
// lists and hard links get lost then.
package quarantine

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/workspace/apply/tree/quarantine/look"
)

const (
	dirName    = "quarantine"
	listName   = "list.json"
	beforeName = "before.json"
)

// Bounds of one look, and of what is done about it.
const (
	mostEntries = 200_000
	mostTime    = 5 * time.Second
	mostTaken   = 10_000
	mostListed  = 200
	mostCopied  = 256 << 20
	copiedFiles = 20_000
	mostHashed  = 64 << 20
	mostList    = 64 << 20 // bytes of a list
)

// Errors of asking for what isn't there.
var (
	ErrNone  = errors.New("nothing of the run was put into quarantine")
	ErrMoved = errors.New("the root is another directory than the run saw")
)

// Options say what to watch over.
type Options struct {
	// Root is an absolute path without links; RunDir is the run's directory.
	Root, RunDir string
	// Judge, Ours and Except are the places: see [look.Eye].
	Judge  look.Judge
	Ours   func(path string, dir bool, written int64) bool
	Except []string
	// Report leaves everything where it is.
	Report bool
	Now    func() time.Time

	entries int // for tests; zero means mostEntries
}

func (o Options) eye() look.Eye {
	entries := mostEntries
	if o.entries > 0 {
		entries = o.entries
	}
	until := o.Now().Add(mostTime)
	return look.Eye{
		Judge: o.Judge, Ours: o.Ours, Except: o.Except, Entries: entries,
		Over: func() bool { return o.Now().After(until) },
	}
}

// Dir is where what was moved out of the root of the run in runDir is.
func Dir(runDir string) string { return filepath.Join(runDir, dirName) }

// An item is one thing of a quarantine, as the list has it.
type item struct {
	paddock.Found
	// Raw is the path where that isn't text, Ino and Ctime what was seen there.
	Raw   []byte `json:"raw,omitempty"`
	Ino   uint64 `json:"ino"`
	Ctime int64  `json:"ctime"`
}

// path is where it was.
func (i item) path() string {
	if i.Raw != nil {
		return string(i.Raw)
	}
	return i.Path
}

// file is its name in the quarantine.
func file(i int) string { return strconv.Itoa(i + 1) }

// A list is what was moved, or is about to be.
type list struct {
	Version int    `json:"version"`
	Root    string `json:"root"`
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Items   []item `json:"items"`
}

// before is what there was before.
type before struct {
	Version int         `json:"version"`
	Root    string      `json:"root"`
	Device  uint64      `json:"device"`
	Inode   uint64      `json:"inode"`
	Except  []string    `json:"except,omitempty"`
	Report  bool        `json:"report,omitempty"`
	Marks   []look.Mark `json:"marks,omitempty"`
	Gaps    []look.Gap  `json:"gaps,omitempty"`
}

const version = 1
