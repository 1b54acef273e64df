// Package index reads the list of files that git tracks, in the one form in which git writes
// it as long as nothing else is asked of it.
//
// # Limits
//
// It reads no index as git does, which would be a second implementation before hostile input: what git
// could read in another way is refused here, and git is to be asked. Every byte has its
// place: entries that end where the next begins, names whose length is what it says, and behind them
// nothing but extensions that name no files. That ids are as long as SHA-1 makes them is for who asks to
// know. What a name leads to isn't looked at, but for what Unmoved compares.
package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	most     = 32 << 20 // bytes of an index that are read
	mostDirs = 200_000  // directories that are told of

	mostCommits = 1000 // of other repositories, that are told of

	headLen  = 12
	entryLen = 62 // before an entry's name
	sumLen   = 20
	modeAt   = 24 // of the mode of a file, of which kindOf is commit for another repository's
	kindOf   = 0o170000
	commit   = 0o160000
	longest  = 0xfff  // of a name, where its length says so much
	extended = 0x4000 // more flags follow
)

// A File is an index that was read; nil if there is none. Its zero value tracks nothing.
type File []byte

// Read returns the index of that name, and whether it could be read, or isn't there.
func Read(dir *os.Root, name string) (_ File, ok bool) {
	st, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil, false
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it could be a pipe by now
	if err != nil {
		return nil, false
	}
	defer f.Close()
	all := make([]byte, st.Size()+1)
	n, err := io.ReadFull(f, all)
	if !errors.Is(err, io.ErrUnexpectedEOF) || int64(n) != st.Size() {
		return nil, false
	}
	return all[:n], true
}

// Sparse reports whether git wrote into the index of that name that it has directories in the place of the files in
// them: that is said at its end, before a sum and perhaps the mark of where entries end.
func Sparse(dir *os.Root, name string) bool {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	said := make([]byte, 8)
	for _, sum := range []int64{20, 32} {
		for _, mark := range []int64{0, 8 + 4 + sum} {
			if _, err := f.ReadAt(said, st.Size()-sum-mark-8); err == nil && string(said) == "sdir\x00\x00\x00\x00" {
				return true
			}
		}
	}
	return false
}

// entries calls f with each entry of an index and its name, as long as f wants more, and reports whether all of it was of
// the form.
func (all File) entries(f func(entry, name []byte) bool) bool {
	// By a mark near its end git begins in places that the index says, wherever that mark came from.
	if all == nil {
		return true
	}
	if len(all) < headLen+sumLen || string(all[:8]) != "DIRC\x00\x00\x00\x02" || bytes.Contains(all, []byte("EOIE")) {
		return false
	}
	count, rest := binary.BigEndian.Uint32(all[8:]), all[headLen:len(all)-sumLen]
	for range count {
		name, size, ok := entry(rest)
		if !ok || !f(rest[:entryLen], name) {
			return false
		}
		rest = rest[size:]
	}
	return nameless(rest)
}

// Directories returns those in which files are tracked at name or below it, all of them if it is
// empty, and whether that can be told.
func (all File) Directories(name string) (dirs []string, told bool) {
	last := ""
	seen := map[string]bool{}
	told = all.entries(func(_, file []byte) bool {
		at := bytes.LastIndexByte(file, '/')
		if !under(file, name) || at > 0 && string(file[:at]) == last {
			return true
		}
		if last = within(file, at); !seen[last] {
			seen[last] = true
			dirs = append(dirs, last)
		}
		return len(dirs) <= mostDirs
	})
	return dirs, told
}

// Commits returns the names in whose place a commit of another repository is tracked, and whether that can be told.
func (all File) Commits() (names []string, told bool) {
	told = all.entries(func(entry, name []byte) bool {
		if binary.BigEndian.Uint32(entry[modeAt:])&kindOf == commit {
			names = append(names, string(name))
		}
		return len(names) <= mostCommits
	})
	return names, told
}

// within is the directory of a file whose last slash is at that place, or which has none, in the index's
// words: a name that leads back from a link leads to where the link does.
func within(file []byte, at int) string {
	switch {
	case at > 0:
		return string(file[:at])
	case file[0] == '/':
		return "/"
	}
	return "."
}

// entry returns the name of the first entry of an index, and how long the entry is.
func entry(rest []byte) (name []byte, size int, ok bool) {
	if len(rest) < entryLen {
		return nil, 0, false
	}
	flags := binary.BigEndian.Uint16(rest[entryLen-2:])
	long := int(flags & longest)
	size = (entryLen + long + 8) &^ 7
	if flags&extended != 0 || long == longest || long == 0 || size > len(rest) {
		return nil, 0, false
	}
	name = rest[entryLen : entryLen+long]
	return name, size, bytes.IndexByte(name, 0) < 0 && len(bytes.Trim(rest[entryLen+long:size], "\x00")) == 0
}

// under reports whether a file is name, or below it.
func under(file []byte, name string) bool {
	return name == "" || strings.HasPrefix(string(file), name) && (len(file) == len(name) || file[len(name)] == '/')
}

// nameless reports whether rest is nothing but extensions that have no names of files to search.
func nameless(rest []byte) bool {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return false
		}
		switch string(rest[:4]) {
		case "TREE", "REUC", "UNTR", "FSMN":
		default:
			return false
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return false
		}
		rest = rest[8+size:]
	}
	return true
}
