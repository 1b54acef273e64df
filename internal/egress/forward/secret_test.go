package forward

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestMasked compares masking a stream, however it is cut, with masking the
// whole text at once.
func TestMasked(t *testing.T) {
	t.Parallel()
	s, err := NewSecret("Authorization", "Bearer aabaabaac")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "aab", "Bearer ", "Bear", s.value, s.words[1], "\n", "\xff"})).Draw(t, "text"), "")
		var from io.Reader = strings.NewReader(text)
		switch rapid.IntRange(0, 3).Draw(t, "cut") {
		case 1:
			from = iotest.OneByteReader(from)
		case 2:
			from = iotest.HalfReader(from)
		case 3:
			from = iotest.DataErrReader(from)
		}
		got, err := io.ReadAll(&masked{ReadCloser: io.NopCloser(from), words: s.words})
		if want := s.hide(text); string(got) != want || err != nil {
			t.Fatalf("%q became %q, %v, want %q", text, got, err, want)
		}
		if bytes.Contains(got, []byte(s.words[1])) {
			t.Fatal("the secret is still there")
		}
	})
}

// TestMaskedAtOnce keeps nothing back that isn't the beginning of a word.
func TestMaskedAtOnce(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	m := &masked{ReadCloser: r, words: []string{"correct-horse"}}
	go func() { _, _ = io.WriteString(w, "data: 1\n\n") }()
	buf := make([]byte, 100)
	if n, err := m.Read(buf); string(buf[:n]) != "data: 1\n\n" || err != nil {
		t.Errorf("got %q, %v", buf[:n], err)
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "a\nb", "a\x00b", "a\x7f", "é"} {
		if _, err := NewSecret("X", value); err == nil || strings.Contains(err.Error(), "a") && value == "a" {
			t.Errorf("%q is taken", value)
		}
	}
	for _, name := range []string{"", "Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Accept-Encoding", "a b", "a:", "a\r\n", "é", "Upgrade", "TE"} {
		if Settable(name) {
			t.Errorf("%q can be set", name)
		}
	}
	for _, name := range []string{"Authorization", "x-api-key", "X_Key"} {
		if !Settable(name) {
			t.Errorf("%q can't be set", name)
		}
	}
	var none *Secret
	if none.hide("x") != "x" {
		t.Error("no secret hides something")
	}
}
