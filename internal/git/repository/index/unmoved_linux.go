package index

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Where in an entry is what it says of a file, four bytes each.
const (
	changed, modified, inode, size = 0, 8, 20, 36

	mostAtOnce = 8
)

// Unmoved reports whether each file at dir that has the size and the time that the index says
// is also the one that the index says in what else git would compare: when it was last
// changed in any way, and which file it is. Then git finds the same by size and time alone. Whose
// it is isn't compared: an index that git wrote in a run has another owner, and who gives a
// file away changes it. Of what isn't easily told, or when ctx ends, it says no. Several look at once, as git
// has it.
func (all File) Unmoved(ctx context.Context, dir *os.Root) bool {
	var files []tracked
	if !all.entries(func(entry, name []byte) bool {
		files = append(files, tracked{entry, string(name)})
		return true
	}) {
		return false
	}
	workers := min(len(files), runtime.GOMAXPROCS(0), mostAtOnce)
	told := make(chan bool, workers)
	for i := range workers {
		go func() { told <- unmoved(ctx, dir, files[i*len(files)/workers:(i+1)*len(files)/workers]) }()
	}
	same := true
	for range workers {
		same = <-told && same
	}
	return same
}

// tracked is a file that an index names, with what it says of it.
type tracked struct {
	entry []byte
	name  string
}

// unmoved is Unmoved of some files.
func unmoved(ctx context.Context, dir *os.Root, files []tracked) bool {
	var within *os.File
	defer func() { _ = within.Close() }() // of nil it is an error, and no more
	in, there := "", false
	for _, f := range files {
		says := func(at int) uint32 { return binary.BigEndian.Uint32(f.entry[at:]) }
		at := strings.LastIndexByte(f.name, '/') + 1
		if within == nil && !there || f.name[:at] != in {
			if ctx.Err() != nil {
				return false
			}
			_ = within.Close()
			var err error
			in = f.name[:at]
			within, err = dir.OpenFile(path.Clean(in), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
			if there = err == nil; !there && !errors.Is(err, os.ErrNotExist) {
				return false
			}
		}
		if !there || says(modeAt)&kindOf == commit {
			continue
		}
		var st unix.Stat_t
		switch err := unix.Fstatat(int(within.Fd()), f.name[at:], &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.ENOENT) && f.name[at:] != "":
		case err != nil:
			return false
		case !seems(f.entry, &st): // which git sees
		case !as(f.entry, changed, st.Ctim) || !as(f.entry, modified, st.Mtim) || says(inode) != uint32(st.Ino):
			return false
		}
	}
	return true
}

// seems reports whether a file has the size and the time of an entry for a git that compares
// nothing else: time in seconds, and for newer ones a size that isn't none where 32 bits of it are.
func seems(entry []byte, st *unix.Stat_t) bool {
	says, is := binary.BigEndian.Uint32(entry[size:]), uint32(st.Size)
	return binary.BigEndian.Uint32(entry[modified:]) == uint32(st.Mtim.Sec) && (says == is || is == 0 && says == 1<<31 && st.Size > 0)
}

// as reports whether an entry has that time at a place, with its parts of a second, which some gits compare.
func as(entry []byte, at int, t unix.Timespec) bool {
	return binary.BigEndian.Uint32(entry[at:]) == uint32(t.Sec) && binary.BigEndian.Uint32(entry[at+4:]) == uint32(t.Nsec)
}
