// Package feed turns runs into events with numbers, for any number of followers.
//
// The numbers of a run are dense, begin at 1, and are the same for everybody, at any
// time, on any server, because they are counted from the run's own record and from
// nothing else:
//
//   - 1 is that the run was accepted;
//   - 2 is that its program started, or that it is known that it never will;
//   - 2+k is the k-th byte of its output, both streams in order of arrival;
//   - 3+T is its end, where T is how many bytes there are in all.
//
// A message carries consecutive numbers, from seq to until, and its id is the last of
// them. In which messages the bytes travel is not part of the rule: who was there when
// they were printed gets them in smaller pieces than who comes later. Each number is
// in exactly one message of a follower, and the next message begins with the next
// number; docs/design/0080 has the reasons.
//
// One goroutine reads a run that is followed, however many follow it: what is new is
// read and encoded once. Who is behind reads pages at its own pace until it has caught
// up, so nobody's slowness is anybody else's, and nothing is dropped.
//
// # Limits
//
// The package asks the verbs of the house, with the principal of who follows, and
// nothing else. A machine that is away is waited for; that its run was lost is for those
// to say who answer for it. Messages without an id, as that a run waits for approval, are
// hints.
package feed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"paddock"
)

// House is what the package asks of the verbs.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
}

// The numbers that aren't bytes.
const (
	accepted  = 1
	started   = 2
	firstByte = 3 // the number of the byte at offset 0
)

// Kinds of messages.
const (
	KindState     = "state"
	KindStatus    = "status" // has no number
	KindOutput    = "output"
	KindTruncated = "truncated"
	KindEnd       = "end"
)

// A Message is some consecutive events of one run.
type Message struct {
	Run  paddock.RunID
	Kind string
	// First and Last are the numbers; both are zero for a hint.
	First, Last int64
	// Data is a JSON object on one line.
	Data []byte
}

// State is the data of messages of the kind state, and of hints.
type State struct {
	Run      paddock.RunID      `json:"run"`
	Seq      int64              `json:"seq,omitzero"`
	Until    int64              `json:"until,omitzero"`
	State    string             `json:"state"` // accepted, started or not-started; of a hint, the run's state
	At       *time.Time         `json:"at,omitempty"`
	Approval paddock.ApprovalID `json:"approval,omitempty"`
}

// Output is the data of messages of the kind output: Length bytes of a stream from
// Offset, which arrived at At. Content is text, or base64 where the bytes aren't valid
// UTF-8 by themselves; a text never ends or begins inside a character.
type Output struct {
	Run      paddock.RunID  `json:"run"`
	Seq      int64          `json:"seq"`
	Until    int64          `json:"until"`
	Stream   paddock.Stream `json:"stream"`
	Offset   int64          `json:"offset"`
	Length   int64          `json:"length"`
	At       time.Time      `json:"at"`
	Encoding string         `json:"encoding"`
	Content  string         `json:"content"`
}

// Truncated is the data of the message in place of output that was removed.
type Truncated struct {
	Run   paddock.RunID `json:"run"`
	Seq   int64         `json:"seq"`
	Until int64         `json:"until"`
	Bytes int64         `json:"bytes"`
	Why   string        `json:"why"`
}

// End is the data of the last message.
type End struct {
	Run     paddock.RunID    `json:"run"`
	Seq     int64            `json:"seq"`
	Until   int64            `json:"until"`
	State   paddock.State    `json:"state"`
	Outcome *paddock.Outcome `json:"outcome"`
}

func message(run paddock.RunID, kind string, first, last int64, data any) (Message, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil {
		return Message{}, fmt.Errorf("an event of run %s: %w", run, err)
	}
	return Message{Run: run, Kind: kind, First: first, Last: last, Data: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, nil
}

// cut makes messages of a raw page of both streams. The beginning of a character at
// its end is left for the next page if hold says so.
func cut(run paddock.RunID, page paddock.Page, hold bool) ([]Message, error) {
	data := []byte(page.Content)
	if page.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
			return nil, fmt.Errorf("a page of run %s: %w", run, err)
		}
	}
	var all []Message
	at := int64(0)
	for i, e := range page.Entries {
		if e.Length < 0 || e.Length > int64(len(data))-at {
			return nil, fmt.Errorf("a page of run %s: its entries are longer than it", run)
		}
		piece := data[at : at+e.Length]
		for _, part := range parts(piece, hold && i == len(page.Entries)-1) {
			out := Output{
				Run: run, Seq: firstByte + page.Offset + at, Stream: e.Stream, Offset: e.Offset, Length: int64(len(part)), At: e.At,
				Encoding: "utf-8", Content: string(part),
			}
			out.Until = out.Seq + out.Length - 1
			if !utf8.Valid(part) {
				out.Encoding, out.Content = "base64", base64.StdEncoding.EncodeToString(part)
			}
			m, err := message(run, KindOutput, out.Seq, out.Until, out)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
			at += out.Length
			e.Offset += out.Length
		}
	}
	return all, nil
}

// parts splits a piece into what is the end of a character, whole characters, and the
// beginning of one, which is left out when hold says so.
func parts(piece []byte, hold bool) (all [][]byte) {
	head := 0
	for head < len(piece) && head < utf8.UTFMax-1 && !utf8.RuneStart(piece[head]) {
		head++
	}
	tail := len(piece)
	for back := 1; back < utf8.UTFMax && tail-back >= head; back++ {
		if c := piece[tail-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(piece[tail-back:]) {
				tail -= back
			}
			break
		}
	}
	for _, p := range [][]byte{piece[:head], piece[head:tail]} {
		if len(p) > 0 {
			all = append(all, p)
		}
	}
	if !hold && tail < len(piece) {
		all = append(all, piece[tail:])
	}
	return all
}

// ParseAfter reads a number as a client sends it back.
func ParseAfter(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, paddock.Refused(paddock.InvalidRequest, "%.60q is no number of an event.", s)
	}
	return n, nil
}

// away reports whether only the machine that has the run isn't there now: whoever follows
// it waits, and goes on where he is.
func away(err error) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == paddock.Away
}

func prunedBy(err error) *paddock.Refusal {
	var r *paddock.Refusal
	if errors.As(err, &r) && r.Code == paddock.Pruned {
		return r
	}
	return nil
}
