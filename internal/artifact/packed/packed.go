// Package packed reads and writes streams that grow no more in less room, without
// changing an offset: a packed file is zstd in the seekable format, blocks of
// 256 KiB that are each compressed by themselves, and a table at the end that says
// where they are. Any zstd tool reads it from start to end.
//
// [Open] reads the output of a run whose files may be packed: the plain file where
// there is one, else the packed one.
//
// # Limits
//
// What is packed, when, and how one file takes the place of the other is decided by
// package executor/retain. A block's checksum has 32 bits, so it finds accidents;
// what was meant to deceive is found by the digest over the whole stream.
//
// The memory that reading takes depends on the number of blocks, of which there may
// be a million (256 GiB of output): less than 100 bytes for each, and one block.
// Whatever a file claims of itself, no more is taken.
//
// Supervisors don't have this package: what they write and read is plain.
package packed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"paddock/internal/artifact"
)

const (
	// Suffix is what the name of a packed file has behind that of the plain one.
	Suffix = ".zst"
	// Block is how much of a stream is compressed by itself: as much as is read to
	// find a line.
	Block = 256 << 10
	// MaxBlocks is how many a file may have.
	MaxBlocks = 1 << 20
	// maxFrame is the most that a block takes when it doesn't get smaller.
	maxFrame = Block + 1<<10
	// tableHead and tableEntry are the sizes of the table's fixed part and of an entry.
	tableHead, tableEntry = 8 + 9, 12
)

// Open returns a Reader of the output in dir, packed or not. It touches nothing yet.
func Open(dir string) *artifact.Reader { return artifact.OpenBy(dir, open) }

func open(path string) (artifact.Source, error) {
	// First the plain file: it is removed only when the packed one is in place.
	f, err := artifact.OpenFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return source(f, err)
	}
	p, packedErr := artifact.OpenFile(path + Suffix)
	if errors.Is(packedErr, fs.ErrNotExist) {
		return nil, err
	}
	if packedErr != nil {
		return nil, packedErr
	}
	file, packedErr := NewFile(p)
	if packedErr != nil {
		return nil, errors.Join(packedErr, p.Close())
	}
	return file, nil
}

// source keeps a nil file from becoming a Source that isn't nil.
func source(f *os.File, err error) (artifact.Source, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// A File reads a packed file as the stream that it holds. It may be used by one
// reader at a time.
type File struct {
	f    *os.File
	r    *seekable.Reader
	size int64
	disk int64
}

// decoder unpacks blocks, for all Files. It has no goroutines, and takes no more
// memory than a block has, whatever is claimed.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(Block), zstd.WithDecoderMaxWindow(Block))
})

// NewFile reads where the blocks of f are. Closing the File closes f; when there is
// an error, f stays open.
func NewFile(f *os.File) (*File, error) {
	p := &File{f: f}
	if err := p.open(); err != nil {
		return nil, p.damaged(err)
	}
	return p, nil
}

func (p *File) damaged(err error) error {
	return fmt.Errorf("%s is damaged: %w", filepath.Base(p.f.Name()), err)
}

func (p *File) open() error {
	info, err := p.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it isn't a regular file")
	}
	p.disk = info.Size()
	dec, err := decoder()
	if err != nil {
		return err
	}
	if p.r, err = seekable.NewReader(nil, dec, seekable.WithReaderEnvironment(p)); err != nil {
		return err
	}
	table, err := p.r.SeekTable()
	if err != nil {
		return err
	}
	return p.check(table)
}

// check holds the table to what [Pack] writes: every block but the last has the
// same size, and together they are as large as the file. So no byte can be taken
// for one at another offset.
func (p *File) check(table seekable.SeekTable) error {
	n := table.NumFrames()
	if !table.HasChecksums() {
		return errors.New("its blocks have no checksums")
	}
	var end uint64
	for i := range n {
		e, _ := table.EntryByID(i)
		full := e.DecompressedSize == Block || i == n-1 && e.DecompressedSize > 0 && e.DecompressedSize < Block
		if !full || e.CompressedSize > maxFrame {
			return fmt.Errorf("its table says of block %d that it holds %d bytes in %d", i, e.DecompressedSize, e.CompressedSize)
		}
		end = e.CompressedOffset + uint64(e.CompressedSize)
	}
	if want := end + tableHead + tableEntry*uint64(n); uint64(p.disk) != want {
		return fmt.Errorf("it has %d bytes, and its table is of %d", p.disk, want)
	}
	p.size = int64(table.Size()) // at most MaxBlocks of Block each
	return nil
}

// Size returns how many bytes the stream has.
func (p *File) Size() int64 { return p.size }

// ReadAt reads the stream.
func (p *File) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = p.damaged(err)
	}
	return n, err
}

// Stat describes the stream: its size is what it has, not what it takes.
func (p *File) Stat() (fs.FileInfo, error) {
	info, err := p.f.Stat()
	if err != nil {
		return nil, err
	}
	return described{info, p.size}, nil
}

type described struct {
	fs.FileInfo
	size int64
}

func (d described) Size() int64 { return d.size }

// Close closes the file.
func (p *File) Close() error { return errors.Join(p.r.Close(), p.f.Close()) }

// What follows is how the seekable reader gets at the file: bounded by what the
// file really has.

// GetFrameByIndex reads a block as it is on the disk.
func (p *File) GetFrameByIndex(e seekable.FrameOffsetEntry) ([]byte, error) {
	if e.CompressedSize > maxFrame || e.CompressedOffset > uint64(p.disk) {
		return nil, errors.New("a block is said to be where there is none")
	}
	return p.part(int64(e.CompressedOffset), int64(e.CompressedSize))
}

// ReadFooter reads the end of the table, which says how long it is.
func (p *File) ReadFooter() ([]byte, error) { return p.end(9) }

// ReadSkipFrame reads the last n bytes, which are the table.
func (p *File) ReadSkipFrame(n int64) ([]byte, error) { return p.end(n) }

func (p *File) end(n int64) ([]byte, error) {
	if n > p.disk || n > tableHead+tableEntry*MaxBlocks {
		return nil, fmt.Errorf("its table would have %d bytes", n)
	}
	return p.part(p.disk-n, n)
}

func (p *File) part(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(io.NewSectionReader(p.f, off, n), b)
	return b, err
}
