// Package artifact keeps the output of runs: two byte-exact streams and the
// frames that say when each part of them arrived.
//
// A [Bank] writes while a run lives. A [Reader] pages what is there, at any
// time, from any process, in memory that doesn't grow with the stream.
//
// # Limits
//
// The package knows no runs, no principals and no policy. It doesn't decide
// when a stream is complete: its caller says so. It waits for nothing.
package artifact

import (
	"io"
	"time"

	"paddock"
)

// Options say how a Bank keeps output. Cap must be positive.
type Options struct {
	// Cap is the most bytes kept per stream, exact to the byte.
	Cap int64
	// Now returns the time of arrival; nil means time.Now.
	Now func() time.Time
}

// A Bank appends output to the files stdout, stderr and frames of a directory.
// Its methods may be called concurrently.
type Bank struct{}

// Create makes the three files in dir, which must not have them yet.
func Create(dir string, opt Options) (*Bank, error) { panic("unbuilt") }

// Append keeps p as the next bytes of stream s. It returns how many were kept:
// fewer than len(p) when the cap is reached (over is true then; exactly full is
// not over) or when writing failed.
func (b *Bank) Append(s paddock.Stream, p []byte) (kept int, over bool, err error) { panic("unbuilt") }

// Drop counts n bytes that arrived after the cap and are not kept.
func (b *Bank) Drop(s paddock.Stream, n int64) { panic("unbuilt") }

// Size returns the bytes kept of s so far.
func (b *Bank) Size(s paddock.Stream) int64 { panic("unbuilt") }

// Seal flushes and fsyncs the files and returns the summaries with digests.
// Nothing can be appended afterwards. Sealing again returns the same.
func (b *Bank) Seal() (stdout, stderr paddock.StreamSummary, err error) { panic("unbuilt") }

// A Reader reads kept output. It holds no file open between calls.
type Reader struct{}

// Open returns a Reader of the directory dir.
func Open(dir string) *Reader { panic("unbuilt") }

// Size returns the bytes of s as of now; combined is the sum that frames cover.
func (r *Reader) Size(s paddock.Stream) (int64, error) { panic("unbuilt") }

// Page reads one page. sealed says that the run is settled, so that the end of
// the file is the end of the stream; the caller must have learned it before the
// call. Page never waits: it ignores req.Wait. An *paddock.Refusal with code
// invalid_request is returned for a request that makes no sense; any other
// error means that the output can't be read, never that it is empty.
func (r *Reader) Page(req paddock.PageRequest, sealed bool) (paddock.Page, error) { panic("unbuilt") }

// Copy writes the bytes of s from offset to w until the end as of now and
// returns the offset reached.
func (r *Reader) Copy(w io.Writer, s paddock.Stream, offset int64) (int64, error) { panic("unbuilt") }

// Verify reads s whole and compares it with sum; nil means equal in size and digest.
func (r *Reader) Verify(s paddock.Stream, sum paddock.StreamSummary) error { panic("unbuilt") }
