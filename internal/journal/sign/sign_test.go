//go:build unix

package sign

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/journal"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a directory that is ours alone all the way.
func newKey(t *testing.T) (*Key, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	key, made, err := LoadOrCreate(path)
	must(t, err)
	if !made {
		t.Error("the key was there")
	}
	return key, path
}

func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	key, path := newKey(t)
	again, made, err := LoadOrCreate(path)
	must(t, err)
	if made || again.Verifier() != key.Verifier() {
		t.Error("it was made again")
	}
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("made over another: %v", err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	public, err := LoadPublic(path + ".pub")
	must(t, err)
	if public.ID() != key.ID() {
		t.Error("the public part is another's")
	}
	text, err := key.PEM()
	must(t, err)
	if public, err := ParsePublic(text); err != nil || public.ID() != key.ID() {
		t.Errorf("as PEM: %v", err)
	}
	must(t, os.Chmod(path, 0o640))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "others may read it") {
		t.Errorf("a key that others may read: %v", err)
	}
	must(t, os.Chmod(path, 0o600))
	for _, bad := range []string{"", "x", key.Verifier(), "PRIVATE+KEY+other+00000000+AAAA"} {
		must(t, os.WriteFile(path, []byte(bad), 0o600))
		if _, _, err := LoadOrCreate(path); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
		if _, err := ParsePublic(bad); (err == nil) != (bad == key.Verifier()) {
			t.Errorf("%q as a public key: %v", bad, err)
		}
	}
	if _, err := Load("key"); err == nil {
		t.Error("a relative path was taken")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t)
	other, _ := newKey(t)
	s := journal.Statement{Journal: strings.Repeat("0", 32), Size: 3}
	note, err := key.Checkpoint(s)
	must(t, err)
	if got, err := key.Open(note); err != nil || got != s {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := other.Open(note); !errors.Is(err, journal.ErrUnknownKey) {
		t.Errorf("by another key: %v", err)
	}
	for i := range note {
		changed := note[:i] + string(note[i]^1) + note[i+1:]
		if got, err := key.Open(changed); err == nil {
			t.Errorf("byte %d changed: %v", i, got)
		}
	}
	// The last digit before the padding has two bits that say nothing: in one
	// of five notes, its neighbour decodes to the same signature.
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.LastIndex(note, "=") - 1
	digit := strings.IndexByte(digits, note[last])
	for spare := 1; spare < 4; spare++ {
		if got, err := key.Open(note[:last] + digits[digit+spare:digit+spare+1] + note[last+1:]); err == nil {
			t.Errorf("the same checkpoint in other letters: %v", got)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t)
	other, _ := newKey(t)
	const statement = `{"_type":"x","text":"ä<"}`
	text, err := json.Marshal(key.Envelope([]byte(statement)))
	must(t, err)
	if got, err := key.OpenEnvelope(text); err != nil || string(got) != statement {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := other.OpenEnvelope(text); err == nil {
		t.Error("another key's signature fits")
	}
	payload := base64.StdEncoding.EncodeToString([]byte(statement))
	for _, change := range [][2]string{
		{payload, base64.StdEncoding.EncodeToString([]byte(statement + " "))}, {PayloadType, "text/plain"}, {`"sig":"`, `"sig":"A`},
		{`{"payloadType"`, `{"payloadType":"x","payloadType"`}, {payload, "*"}, {`"signatures":[`, `"none":[`},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if got, err := key.OpenEnvelope([]byte(changed)); changed == string(text) || err == nil {
			t.Errorf("%s\nis taken for signed: %s", changed, got)
		}
	}
}

// OpenSSL checks what we sign, by what the page about the journal says.
func TestOpenSSLChecksAnEnvelope(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t)
	dir := t.TempDir()
	e := key.Envelope([]byte(`{"_type":"https://in-toto.io/Statement/v1"}`))
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	must(t, err)
	sig, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	must(t, err)
	text, err := key.PEM()
	must(t, err)
	for name, data := range map[string]string{
		"key.pem": text, "sig": string(sig),
		"signed":  "DSSEv1 28 application/vnd.in-toto+json 43 " + string(payload),
		"changed": "DSSEv1 28 application/vnd.in-toto+json 43 " + string(payload[:42]) + " ",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	check := func(name string) error {
		cmd := testproc.Command(t, "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", name, "-sigfile", "sig")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.Process == nil {
			t.Skip("openssl can't be started: " + err.Error())
		}
		t.Logf("%s: %s", name, out)
		return err
	}
	if err := check("signed"); err != nil {
		t.Error(err)
	}
	if check("changed") == nil {
		t.Error("a changed statement is taken for signed")
	}
}
