package present

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strconv"
	"sync"
	"unicode/utf8"

	"paddock"
	"paddock/internal/git/parse"
)

// Content is what a revision has at a path.
type Content struct {
	Object
	// Binary is set where there is a NUL near the beginning, as git tells.
	Binary bool `json:"binary,omitzero"`
	// LFS is what a pointer of Git LFS stands for; the content is the pointer.
	LFS *LFS `json:"lfs,omitzero"`
	// Text is from Offset to Next, in bytes of the file; Encoding is utf-8 or
	// base64. EOF says that it ends with the file.
	Text     string `json:"text"`
	Encoding string `json:"encoding,omitzero"`
	Offset   int64  `json:"offset"`
	Next     int64  `json:"next"`
	EOF      bool   `json:"eof"`
}

// LFS is a file that is kept elsewhere.
type LFS struct {
	ID   string `json:"id"`
	Size int64  `json:"size"`
}

const (
	// MostSniffed is how many bytes are read to tell what a file is: a NUL among
	// them makes it binary, as git has it.
	MostSniffed = 8000

	mostPointer = 1024 // bytes of a pointer of Git LFS
)

var pointer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\Aversion https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid (sha256:[0-9a-f]{64})\nsize ([0-9]{1,18})\n\z`)
})

// Sniff tells by its beginning what a file is.
func (c *Content) Sniff(head []byte) {
	head = head[:min(int64(len(head)), max(0, c.Size))]
	if m := pointer().FindSubmatch(head); m != nil && c.Size <= mostPointer {
		size, _ := strconv.ParseInt(string(m[2]), 10, 64) // at most 18 digits, as the form says
		c.LFS = &LFS{ID: string(m[1]), Size: size}
	}
	c.Binary = bytes.IndexByte(head, 0) >= 0
}

// Hold puts in what a page has of the file, of which so much is kept; at most so many
// lines, if lines isn't zero.
func (c *Content) Hold(page paddock.Page, kept, lines int64) (err error) {
	text := []byte(page.Content)
	if page.Encoding == "base64" {
		if text, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
			return err
		}
	}
	c.Offset = min(page.Offset, kept)
	text = parse.Leading(text[:min(int64(len(text)), kept-c.Offset)], lines)
	c.Next, c.Encoding, c.Text = c.Offset+int64(len(text)), "utf-8", string(text)
	if !utf8.Valid(text) {
		c.Encoding, c.Text = "base64", base64.StdEncoding.EncodeToString(text)
	}
	c.EOF = c.Next == c.Size
	return nil
}
