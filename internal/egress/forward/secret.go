package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// minSecret is the shortest word that is looked for in answers: masking less
// would tear holes into text that has nothing to do with the secret.
const minSecret = 8

// A Secret is a credential for one request, and what is masked in its answer.
// A nil Secret adds and hides nothing.
type Secret struct {
	header, value string
	words         []string
}

// NewSecret makes a secret that is sent in header.
func NewSecret(header, value string) (*Secret, error) {
	if value == "" {
		return nil, errors.New("it is empty")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return nil, errors.New("it has characters that a header can't carry")
	}
	s := &Secret{header: header, value: value}
	// The whole value first, then what follows a scheme such as Bearer.
	_, token, _ := strings.Cut(value, " ")
	for _, w := range []string{value, token} {
		if len(w) >= minSecret {
			s.words = append(s.words, w)
		}
	}
	return s, nil
}

// Settable tells whether a secret can be sent in the header of this name: it is
// a name, and none that frames or routes a request.
func Settable(name string) bool {
	switch strings.ToLower(name) {
	case "", "host", "content-length", "expect", "accept-encoding":
		return false
	}
	return !hopByHop(name) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// give puts the secret in the place of what the client sent under its name. The
// answer must be readable, or the secret couldn't be masked in it.
func (s *Secret) give(header http.Header) {
	if s == nil {
		return
	}
	header.Set(s.header, s.value)
	header.Set("Accept-Encoding", "identity")
}

// hide returns text with every byte of the secret replaced by a star.
func (s *Secret) hide(text string) string {
	if s == nil {
		return text
	}
	for _, w := range s.words {
		text = strings.ReplaceAll(text, w, strings.Repeat("*", len(w)))
	}
	return text
}

// hideIn hides the secret in an answer.
func (s *Secret) hideIn(resp *http.Response) {
	if s == nil {
		return
	}
	resp.Status = s.hide(resp.Status)
	for _, values := range resp.Header {
		for i := range values {
			values[i] = s.hide(values[i])
		}
	}
	resp.Body = &masked{ReadCloser: resp.Body, words: s.words}
}

// A masked stream has every byte of every word replaced by a star. It keeps
// nothing back that can't be the beginning of a word, so that answers arrive as
// they are sent.
type masked struct {
	io.ReadCloser
	words []string
	buf   []byte // read, and not yet returned
	ready int    // so much of buf is masked and may be returned
	err   error  // what ended the stream
}

func (m *masked) Read(p []byte) (int, error) {
	for m.ready == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill(max(len(p), 512))
	}
	n := copy(p, m.buf[:m.ready])
	m.buf = m.buf[n:]
	m.ready -= n
	return n, nil
}

// fill reads once, masks what it can see and decides how much may go.
func (m *masked) fill(size int) {
	next := make([]byte, len(m.buf)+size)
	kept := copy(next, m.buf)
	n, err := m.ReadCloser.Read(next[kept:])
	m.buf, m.err = next[:kept+n], err
	tail := 0
	for _, w := range m.words {
		for at := 0; ; at += len(w) {
			i := bytes.Index(m.buf[at:], []byte(w))
			if i < 0 {
				break
			}
			at += i
			copy(m.buf[at:], strings.Repeat("*", len(w)))
		}
		tail = max(tail, m.begun(w))
	}
	m.ready = len(m.buf)
	if err == nil {
		m.ready -= tail
	}
}

// begun is the length of the longest end of buf that could begin the word.
func (m *masked) begun(word string) int {
	for n := min(len(word)-1, len(m.buf)); n > 0; n-- {
		if bytes.HasSuffix(m.buf, []byte(word[:n])) {
			return n
		}
	}
	return 0
}
