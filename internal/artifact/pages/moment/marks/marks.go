// Package marks says how many lines end before every 256 KiB of a stream, so
// that a line of a long stream is found without reading what is before it.
//
// A [Writer] adds a record for each full block as it is kept. A [Counter] finds
// lines with the help of the records, or without.
//
// # Limits
//
// The records are a hint and never the truth. Each carries a check of itself,
// and a block that is used is counted again; one that doesn't fit makes the
// Counter forget the records and read the stream from its start. Records of the
// blocks before it are believed: who can write the file can make lines be
// numbered wrongly, as who can write the stream can change what it says.
//
// Short streams, and those of versions before this package, have no file.
package marks

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// Block is how much of a stream one record is about.
const Block = 256 << 10

// recordSize is that of the count, its check and a word that says what it is.
const (
	recordSize = 16
	magic      = 0x314e4c50 // "PLN1"
)

// Name returns the file's name in a run's directory.
func Name(stream string) string { return stream + ".lines" }

// castagnoli takes longer to make than a short run has lines.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// encode returns the record of block k: how many lines end up to its end.
func encode(k, count int64) (b [recordSize]byte) {
	le := binary.LittleEndian
	le.PutUint64(b[:], uint64(count))
	le.PutUint32(b[8:], check(k, count))
	le.PutUint32(b[12:], magic)
	return b
}

func decode(b []byte, k int64) (count int64, ok bool) {
	le := binary.LittleEndian
	count = int64(le.Uint64(b))
	// No block has more line ends than bytes.
	ok = le.Uint32(b[12:]) == magic && le.Uint32(b[8:]) == check(k, count) && count >= 0 && count <= (k+1)*Block
	return count, ok
}

// check covers the record's place too, so that one which was moved doesn't fit.
func check(k, count int64) uint32 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(k))
	binary.LittleEndian.PutUint64(b[8:], uint64(count))
	return crc32.Checksum(b[:], castagnoli())
}
