// Package artifact keeps the output of runs: two byte-exact streams and the
// frames that say when each part of them arrived.
//
// A [Bank] writes while a run lives. A [Reader] pages what is there, at any
// time, from any process, in memory that doesn't grow with the stream.
//
// The files stdout and stderr hold the bytes and nothing else. The file frames
// holds one record of fixed size for each part that arrived at one time; the
// combined stream is the parts in the order of their records. Bytes are always
// written before the record that covers them, and a record that covers the last
// bytes grows with them, so that a reader sees every byte as soon as it is kept.
// A stream of more than 256 KiB has a file that says where its lines are; it is
// a hint that readers can do without.
//
// # Limits
//
// The package knows no runs, no principals and no policy. It doesn't decide
// when a stream is complete: its caller says so. It waits for nothing.
//
// Order and time between the streams are those of Append. Parts of one stream
// less than 4 ms apart share a record, so a time can be 4 ms early. Records take
// at most 1 MiB, a quarter of the output and 64 bytes a second: a program that
// alternates between its streams in tiny writes for longer than that loses
// order and time (never bytes) within parts of 128 bytes or one second.
//
// A filter sees lines, without their line end and only their first 64 KiB. A
// line that is longer than that, or than the page, is returned cut, and ends in
// "… [cut]". It looks at no more than 16 MiB a page: a page without matches
// isn't the end, EOF says that.
package artifact

import (
	"errors"
	"time"
)

// ErrSealed is returned for output that comes after Seal or Close.
var ErrSealed = errors.New("the output is sealed")

// Options say how a Bank keeps output. Cap must be positive.
type Options struct {
	// Cap is the most bytes kept per stream, exact to the byte.
	Cap int64
	// Now returns the time of arrival; nil means time.Now.
	Now func() time.Time
}
