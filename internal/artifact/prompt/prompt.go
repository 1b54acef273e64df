// Package prompt tells whether the last thing that a program printed looks like
// a question. Nobody answers a run: it gets its input at the start, or none. So
// one that asks hangs, and looks just like one that works.
//
// # Limits
//
// It guesses from the words on the screen, in English and from the marks that
// most prompts have. It says only that there seems to be a question, never what
// it was: what is printed belongs into the output alone.
package prompt

import (
	"bytes"
	"regexp"
	"sync"

	"paddock"
	"paddock/internal/artifact"
)

// window is how much of the end of the output is looked at.
const window = 512

// Asked reports whether the output that r reads ends with a question. Output
// that can't be read asks nothing.
func Asked(r *artifact.Reader) bool {
	size, err := r.Size(paddock.Combined)
	if err != nil || size == 0 {
		return false
	}
	var tail bytes.Buffer
	if _, err := r.Copy(&tail, paddock.Combined, max(0, size-window)); err != nil {
		return false
	}
	return Question(tail.Bytes())
}

var (
	// escapes are what colours a prompt.
	escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`) })
	// choices are unmistakable, also where the line was ended.
	choices = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\[(](y/n|yes/no|y/n/[a-z]|yes/no/[\[\]a-z]+)[\])]|press (any key|enter|return)|hit (enter|return)`)
	})
	// marks are how a line ends that waits for its other half.
	marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\?|:|>|❯|»|[\])]\??:?)\s*$`) })
)

// Question reports whether tail, the end of some output, looks like one.
func Question(tail []byte) bool {
	tail = escapes().ReplaceAll(tail, nil)
	open := len(tail) > 0 && tail[len(tail)-1] != '\n'
	tail = bytes.TrimRight(tail, "\r\n")
	if i := bytes.LastIndexAny(tail, "\r\n"); i >= 0 {
		tail = tail[i+1:]
	}
	if len(bytes.TrimSpace(tail)) == 0 {
		return false
	}
	return choices().Match(tail) || open && marks().Match(tail)
}
