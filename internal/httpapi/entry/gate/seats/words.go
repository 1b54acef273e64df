package seats

import (
	"encoding/binary"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"

	"paddock"
)

// Protocol is what the connection is upgraded to, in the words of WebSocket.
const Protocol = "paddock.attach.1"

// The bounds of messages, which hold before anything of them is parsed.
const (
	// numberBytes is how long the number is that begins what is typed, and the offset that
	// begins what was printed: most significant byte first.
	numberBytes = 8
	// MostMessage is the longest that a client sends, MostWord the longest of text.
	MostMessage = numberBytes + paddock.MostTyped
	MostWord    = 1 << 10
	// MostPrinted is the longest that a server sends of what was printed.
	MostPrinted = numberBytes + 64<<10
)

// The kinds of text messages.
const (
	Take    = "take"    // of a client: it types from now on
	Resize  = "resize"  // of a client: the terminal is to be as large
	Done    = "done"    // of a server: what was asked for with Number is done
	Refused = "refused" // of a server: what was asked for with Number isn't done
	Failed  = "failed"  // of a server: nothing more comes, for this reason
	End     = "end"     // of a server: the run is over, and all that it printed was sent
)

// A Word is a text message.
type Word struct {
	Type string `json:"type"`
	// Hand names the attachment, over as many connections as it takes; only of clients.
	Hand string `json:"hand,omitempty"`
	// Number counts what an attachment asks, from 1: what was done isn't done again.
	Number int64                 `json:"number,omitempty"`
	Size   *paddock.TerminalSize `json:"size,omitempty"`
	// Refusal is why something isn't done, Run how the run ended.
	Refusal *paddock.Refusal `json:"refusal,omitempty"`
	Run     *paddock.Run     `json:"run,omitempty"`
}

// errWord is of a message that isn't understood.
var errWord = errors.New("the message isn't one of this protocol")

// read reads a text message of a client.
func read(text []byte) (paddock.Typing, error) {
	var w Word
	if len(text) > MostWord {
		return paddock.Typing{}, fmt.Errorf("%w: text has at most %d bytes", errWord, MostWord)
	}
	if err := jsonv2.Unmarshal(text, &w, jsonv2.RejectUnknownMembers(true)); err != nil {
		return paddock.Typing{}, fmt.Errorf("%w: not such an object", errWord)
	}
	t := paddock.Typing{Hand: w.Hand, Number: w.Number, Take: w.Type == Take, Size: w.Size}
	switch {
	case w.Type != Take && w.Type != Resize:
		return t, fmt.Errorf("%w: type is take or resize", errWord)
	case w.Refusal != nil || w.Run != nil:
		return t, fmt.Errorf("%w: refusal and run are said by servers", errWord)
	case w.Number < 1:
		return t, fmt.Errorf("%w: number counts from 1", errWord)
	case w.Type == Resize && w.Size == nil:
		return t, fmt.Errorf("%w: resize has a size", errWord)
	}
	if wrong := t.Wrong(); wrong != "" {
		return t, fmt.Errorf("%w: %s", errWord, wrong)
	}
	return t, nil
}

// typed reads a binary message of the client whose attachment is called hand.
func typed(hand string, b []byte) (paddock.Typing, error) {
	switch {
	case hand == "":
		return paddock.Typing{}, fmt.Errorf("%w: take comes first", errWord)
	case len(b) <= numberBytes || len(b) > MostMessage:
		return paddock.Typing{}, fmt.Errorf("%w: what is typed has a number of %d bytes and then from 1 to %d", errWord, numberBytes, paddock.MostTyped)
	}
	number := int64(binary.BigEndian.Uint64(b))
	if number < 1 {
		return paddock.Typing{}, fmt.Errorf("%w: number counts from 1", errWord)
	}
	return paddock.Typing{Hand: hand, Number: number, Input: b[numberBytes:]}, nil
}

// Numbered puts n before b.
func Numbered(n int64, b []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, numberBytes+len(b)), uint64(n)), b...)
}

// Cut takes the number from before b.
func Cut(b []byte) (n int64, rest []byte, ok bool) {
	if len(b) < numberBytes {
		return 0, nil, false
	}
	n = int64(binary.BigEndian.Uint64(b))
	return n, b[numberBytes:], n >= 0
}
