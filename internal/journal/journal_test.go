package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"paddock"
)

func sealed(t testing.TB, e Entry) []byte {
	t.Helper()
	line, err := Seal(&e)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

func sample() Entry {
	req := paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Agent, ID: "a\xff"}, Door: paddock.DoorMCP,
		Command: paddock.Command{Argv: []string{"go", `,"entry":"sha256:`, "<&>"}},
	}
	e := StartOf("r00000000000000000000000000", req, paddock.Decision{Granted: paddock.Gives(&paddock.Grant{EnvironmentNames: []string{"PATH"}})})
	e.Seq, e.Prev, e.Time = 2, paddock.DigestOf([32]byte{1}), time.Unix(0, 0).UTC()
	return e
}

func TestALineIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	line := sealed(t, sample())
	e, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if e.Start == nil || e.Start.Argv[1] != `,"entry":"sha256:` || e.Principal.ID != "a\uFFFD" || e.Seq != 2 {
		t.Errorf("%+v", e)
	}
	body := line[:len(line)-len(`,"entry":"sha256:"}`)-64]
	if e.Digest != paddock.DigestOf(sha256.Sum256(body)) {
		t.Error("the digest isn't of what the page about the format says")
	}
}

// forge makes a line with a right digest of anything.
func forge(body string) string {
	return body + tail + paddock.DigestOf(sha256.Sum256([]byte(body))).Hex() + shut
}

func TestHostileLines(t *testing.T) {
	t.Parallel()
	good := string(sealed(t, sample()))
	if _, err := Parse([]byte(forge(`{"seq":1,"kind":"novelty","time":"2026-11-29T00:00:00Z","more":[1]`))); err != nil {
		t.Errorf("an unknown kind: %v", err)
	}
	for name, line := range map[string]string{
		"nothing": "", "no entry": "{}", "cut": good[:len(good)-1], "longer": good + " ", "a NUL": good[:40] + "\x00" + good[41:],
		"bad UTF-8":     forge("{\"seq\":1,\"kind\":\"x\xff\""),
		"a doubled key": forge(`{"seq":1,"kind":"x","kind":"x"`), "another type": forge(`{"seq":"1","kind":"x"`),
		"no number": forge(`{"kind":"x"`), "no kind": forge(`{"seq":1`), "zero": forge(`{"seq":0,"kind":"x"`),
		"nothing before": forge(`{"seq":2,"kind":"x"`), "an array": forge(`[1`), "no object": forge(``),
		"upper case": good[:len(good)-4] + strings.ToUpper(good[len(good)-4:]), "very long": forge(`{"seq":1,"kind":"` + strings.Repeat("x", MaxLine) + `"`),
		"very deep": forge(`{"seq":1,"kind":"x","more":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)),
	} {
		if name == "upper case" && line == good {
			continue
		}
		if e, err := Parse([]byte(line)); err == nil {
			t.Errorf("%s was read as %+v", name, e)
		}
	}
}

func TestWhatCanNotBeSealed(t *testing.T) {
	t.Parallel()
	long := sample()
	long.Abandoned = strings.Repeat("x", MaxLine)
	for name, e := range map[string]Entry{
		"no number": {Kind: Begin}, "no kind": {Seq: 1}, "nothing before": {Seq: 2, Kind: End}, "too long": long,
	} {
		if line, err := Seal(&e); err == nil {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// The largest request that a policy can allow has room in a line.
func TestTheLargestEntriesHaveRoom(t *testing.T) {
	t.Parallel()
	worst := strings.Repeat("\x01", 4096) // six bytes each in JSON
	argv, names := make([]string, 256), make([]string, 1000)
	for i := range argv {
		argv[i] = worst
	}
	for i := range names {
		names[i] = worst
	}
	at := &paddock.Position{File: worst}
	places := make([]paddock.Found, 200)
	for i := range places {
		places[i].Path = worst
	}
	found := paddock.Outcome{Deeper: &paddock.Deeper{Found: places, More: 3}}
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: worst}, Command: paddock.Command{Argv: argv}}
	grant := &paddock.Grant{EnvironmentNames: names, Dir: worst, Executable: paddock.Executable{Path: worst}, Rule: at}
	refusal := &paddock.Refusal{Code: paddock.RuleDenied, Message: worst, Rule: worst, Others: make([]paddock.Refusal, 300)}
	for _, e := range []Entry{
		StartOf("r", req, paddock.Decision{Granted: paddock.Gives(grant)}), RefusalOf(req, "", refusal), KillOf("r", "kill", "TERM", worst, worst),
		AbandonedOf("r", errors.New(worst)), EndOf("r", paddock.Outcome{Reason: paddock.Reason{By: worst, Detail: worst}}, nil, "", ""),
		EndOf("r", found, nil, "", ""),
	} {
		e.Seq, e.Prev = 2, paddock.DigestOf([32]byte{})
		line := sealed(t, e)
		if _, err := Parse(line); err != nil {
			t.Errorf("%s: %v", e.Kind, err)
		}
	}
	s := StartOf("r", req, paddock.Decision{Granted: paddock.Gives(grant)}).Start
	if s.Count != 256 || s.EnvironmentCount != 1000 || s.Digest != WordsOf(argv).Digest {
		t.Errorf("of 256 words and 1000 names it says %d and %d", s.Count, s.EnvironmentCount)
	}
	if e := EndOf("r", found, nil, "", "").End; e.FoundCount != 203 || len(e.Found) == 0 || len(e.Found) > 20 {
		t.Errorf("of 203 places it says %d and names %d", e.FoundCount, len(e.Found))
	}
	one := paddock.Outcome{Deeper: &paddock.Deeper{Found: []paddock.Found{{Path: "a/.envrc"}}}}
	if e := EndOf("r", one, nil, "", "").End; e.FoundCount != 0 || len(e.Found) != 1 || e.Found[0] != "a/.envrc" {
		t.Errorf("%+v", e)
	}
	few := WordsOf([]string{"a", "", "b"})
	if few.Count != 0 || len(few.Argv) != 3 || few.Digest == WordsOf([]string{"a", "b", ""}).Digest {
		t.Errorf("%+v", few)
	}
	if many := WordsOf(make([]string, 10_000)); many.Count != 10_000 || len(many.Argv) > mostArgv {
		t.Errorf("of 10,000 empty words it has %d", len(many.Argv))
	}
}

func TestTheTreeIsThatOfTransparencyLogs(t *testing.T) {
	t.Parallel()
	var ours Tree
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		var some []tlog.Hash
		for _, i := range at {
			some = append(some, stored[i])
		}
		return some, nil
	})
	for n := range int64(200) {
		line := []byte{byte(n), byte(n >> 8)}
		made, err := tlog.StoredHashes(n, line, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, made...)
		ours.Add(line)
		want, err := tlog.TreeHash(n+1, read)
		if err != nil || ours.Hash() != want {
			t.Fatalf("of %d entries: %v, want %v, %v", n+1, ours.Hash(), want, err)
		}
		again, err := TreeOf(ours.Size(), ours.Frontier())
		if err != nil || again.Hash() != want {
			t.Fatalf("from the frontier of %d: %v, %v", n+1, again, err)
		}
	}
	for _, words := range [][]string{nil, {"x", "x", "x"}, ours.Frontier()[1:]} {
		if _, err := TreeOf(200, words); err == nil {
			t.Errorf("%q was taken for a frontier", words)
		}
	}
}

func TestHeadsAndStatements(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0a", 16)
	h := Head{id, 7, paddock.DigestOf([32]byte{9})}
	if again, err := ParseHead(h.String() + "\n"); err != nil || again != h {
		t.Errorf("%v, %v", again, err)
	}
	for _, bad := range []string{"", id, id + " 0 " + string(h.Digest), id + " 7 sha256:", "x 7 " + string(h.Digest), h.String() + " x", id + " 9223372036854775808 " + string(h.Digest)} {
		if _, err := ParseHead(bad); err == nil {
			t.Errorf("%q was taken for a head", bad)
		}
	}
	s := Statement{id, 7, tlog.Hash{1}}
	if again, err := ParseStatement(s.Text()); err != nil || again != s {
		t.Errorf("%v, %v", again, err)
	}
	text := s.Text()
	for _, bad := range []string{"", text + "\n", text + "x\n", strings.Replace(text, "7", "07", 1), strings.Replace(text, "7", "+7", 1), strings.Replace(text, "/", "", 1), text[:len(text)-3] + "\n"} {
		if _, err := ParseStatement(bad); err == nil {
			t.Errorf("%q was taken for a statement", bad)
		}
	}
}

// Whatever is scanned comes back byte for byte, in lines, with its places.
func TestScan(t *testing.T) {
	t.Parallel()
	for range 200 {
		text := make([]byte, rand.IntN(4*MaxLine))
		for i := range text {
			text[i] = "abc\n"[rand.IntN(4)]
			if rand.IntN(3) > 0 {
				text[i] = 'x'
			}
		}
		if rand.IntN(2) == 0 {
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("y"))
		}
		var back bytes.Buffer
		line := 0
		err := Scan(bytes.NewReader(text), func(l Line) error {
			if int(l.Offset) != back.Len() || l.Number < line || l.Number > line+1 || len(l.Bytes)+len(l.Long) > MaxLine {
				t.Fatalf("line %d at %d after line %d at %d", l.Number, l.Offset, line, back.Len())
			}
			line = l.Number
			back.Write(l.Bytes)
			back.Write(l.Long)
			if l.Whole {
				back.WriteByte('\n')
			}
			return nil
		})
		if err != nil || !bytes.Equal(back.Bytes(), text) {
			t.Fatalf("%d bytes became %d, %v", len(text), back.Len(), err)
		}
	}
	broken := errors.New("broken")
	if err := Scan(io.MultiReader(strings.NewReader("a\n"), errReader{broken}), func(Line) error { return nil }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestSegmentsOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := Snapshot(context.WithoutCancel(t.Context()), t.TempDir()+"/none"); err == nil {
		t.Error("there is a journal in a directory that isn't there")
	}
	if all, err := Snapshot(t.Context(), t.TempDir()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"seq":1,"kind":"begin"`), true)
	f.Add(sealed(f, sample()), false)
	f.Fuzz(func(t *testing.T, b []byte, complete bool) {
		if complete {
			b = []byte(forge(string(b)))
		}
		e, err := Parse(b)
		if err != nil {
			return
		}
		if e.Seq < 1 || e.Kind == "" || e.Digest != paddock.DigestOf(sha256.Sum256(b[:len(b)-ends])) {
			t.Errorf("%q was read as %+v", b, e)
		}
	})
}

func FuzzStatement(f *testing.F) {
	f.Add(Statement{strings.Repeat("0", 32), 3, tlog.Hash{}}.Text())
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStatement(text); err == nil && s.Text() != text {
			t.Errorf("%q was read as %q", text, s.Text())
		}
	})
}
