//go:build linux

package secrets

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy/known/secret"
	"paddock/internal/trust"
)

const value22 = "hunter22-hunter22"

func certificate(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestRead(t *testing.T) {
	t.Parallel()
	good := certificate(t)
	for name, c := range map[string]struct {
		text, ca string
		mode     os.FileMode
		trimmed  bool
		problem  string
	}{
		"a value":           {text: value22, mode: 0o600},
		"a line":            {text: value22 + "\n", mode: 0o400, trimmed: true},
		"a line of Windows": {text: value22 + "\r\n", mode: 0o600, trimmed: true},
		"with certificates": {text: value22, mode: 0o600, ca: good},
		"two lines":         {text: value22 + "\n\n", mode: 0o600, problem: "a header can't carry"},
		"a line inside":     {text: value22 + "\r\nX: y", mode: 0o600, problem: "a header can't carry"},
		"a NUL":             {text: value22 + "\x00", mode: 0o600, problem: "a header can't carry"},
		"not ASCII":         {text: value22 + "é", mode: 0o600, problem: "a header can't carry"},
		"not UTF-8":         {text: value22 + "\xff", mode: 0o600, problem: "a header can't carry"},
		"empty":             {mode: 0o600, problem: "is empty"},
		"a line break":      {text: "\n", mode: 0o600, problem: "is empty"},
		"the longest":       {text: strings.Repeat("x", mostValue) + "\n", mode: 0o600, trimmed: true},
		"too long":          {text: strings.Repeat("x", mostValue+1), mode: 0o600, problem: "more than 8192 bytes"},
		"far too long":      {text: strings.Repeat("x", 3*mostValue) + "\n", mode: 0o600, problem: "more than 8192 bytes"},
		"read by all":       {text: value22, mode: 0o604, problem: "mode 0604"},
		"read by a group":   {text: value22, mode: 0o640, problem: "mode 0640"},
		"written by all":    {text: value22, mode: 0o602, problem: "by everyone"},
		"no certificates":   {text: value22, mode: 0o600, ca: "hunter", problem: "holds no certificate"},
		"no end of them":    {text: value22, mode: 0o600, ca: good + strings.Repeat("\n", mostCA), problem: "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := paddock.Injection{Secret: "S", Place: "a.example:443", Header: "X", Prefix: "Bearer ", File: filepath.Join(t.TempDir(), "s")}
			write(t, i.File, c.text, c.mode)
			if c.ca != "" {
				i.CA = i.File + ".pem"
				write(t, i.CA, c.ca, 0o644)
			}
			got, facts, err := Read(trust.User(), i)
			if err != nil {
				t.Fatal(err)
			}
			if c.problem != "" {
				if !strings.Contains(facts.Problem, c.problem) || strings.Contains(facts.Problem, "hunter") {
					t.Errorf("problem %q, want %q", facts.Problem, c.problem)
				}
				return
			}
			want := strings.TrimRight(c.text, "\r\n")
			if facts.Problem != "" || !facts.Found || facts.Trimmed != c.trimmed || got.Value != "Bearer "+want || got.Place != i.Place || got.Header != "X" || got.CA != c.ca {
				t.Errorf("got %v, %+v", got, facts)
			}
			if secret.Held([]string{"A"}, []string{want}, map[string]secret.Facts{"S": facts}) == nil {
				t.Error("its value isn't known by its digest")
			}
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// What isn't a file that can be trusted is told as that.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(open, "s"), value22, 0o600)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "there is no file",
		dir:                        "not a regular file",
		filepath.Join(open, "s"):   "can be written to by everyone",
	} {
		_, facts, _ := Read(trust.User(), paddock.Injection{Secret: "S", File: path})
		if facts.Found || !strings.Contains(facts.Problem, want) {
			t.Errorf("%s: %+v, want %q", path, facts, want)
		}
	}
	file := filepath.Join(dir, "s")
	write(t, file, value22, 0o600)
	if _, facts, _ := Read(trust.UID(os.Geteuid()+1), paddock.Injection{Secret: "S", File: file}); os.Geteuid() != 0 && !strings.Contains(facts.Problem, "belongs to user") {
		t.Errorf("another's: %+v", facts)
	}
	if _, facts, _ := Read(trust.User(), paddock.Injection{Secret: "S", File: file, CA: filepath.Join(dir, "none")}); !strings.Contains(facts.Problem, "there is no file") {
		t.Errorf("certificates: %+v", facts)
	}
}

// A variable carries what a header can't, and nothing that isn't text.
func TestGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, problem  string
		trimmed, short bool
	}{
		"a value":    {text: value22},
		"a key":      {text: "-----BEGIN-----\nabc\n-----END-----\n", trimmed: true},
		"not ASCII":  {text: "grüßegrüße"},
		"short":      {text: "1234567\n", trimmed: true, short: true},
		"a NUL":      {text: value22 + "\x00", problem: "a variable can't carry"},
		"not UTF-8":  {text: value22 + "\xff", problem: "a variable can't carry"},
		"empty":      {text: "\r\n", problem: "is empty"},
		"too long":   {text: strings.Repeat("x", 10*mostValue), problem: "more than 8192 bytes"},
		"two breaks": {text: value22 + "\n\n", trimmed: true},
	} {
		file := filepath.Join(t.TempDir(), "s")
		write(t, file, c.text, 0o600)
		value, facts, err := Given(trust.User(), paddock.Given{Secret: "S", File: file})
		if err != nil {
			t.Fatal(err)
		}
		if c.problem != "" {
			if value != "" || facts.Found || !strings.Contains(facts.Problem, c.problem) || strings.Contains(facts.Problem, "hunter") {
				t.Errorf("%s: %+v", name, facts)
			}
			continue
		}
		want := strings.TrimSuffix(c.text, "\n")
		if value != want || !facts.Found || facts.Trimmed != c.trimmed || facts.Short != c.short || facts.Problem != "" {
			t.Errorf("%s: %q, %+v", name, value, facts)
		}
	}
}

// A variable is refused for what is in it, in any form, and no other is.
func TestCarried(t *testing.T) {
	t.Parallel()
	values := map[string]string{"ONE": value22, "SHORT": "1234567", "NONE": ""}
	for variable, want := range map[string]bool{
		"A=" + value22: true, "A=x" + value22 + "y": true, "A=aHVudGVyMjItaHVudGVyMjI=": true, "A=68756e74657232322d68756e7465723232": true,
		"A=hunter22": false, "A=1234567": false, "A=": false, value22 + "=x": false,
	} {
		got := Carried(values, []string{"B=harmless", variable})
		if (len(got) == 1) != want {
			t.Errorf("%s: %v", variable, got)
		}
		if want && (got[0].Code != paddock.SecretInEnvironment || got[0].Gate != paddock.GateEnvironment || !strings.Contains(got[0].Message, "A, which carries the value of the secret ONE") || strings.Contains(got[0].Message, "hunter")) {
			t.Errorf("%s: %v", variable, got[0])
		}
	}
	files := Files([]paddock.Given{{Secret: "A", File: "/a"}}, []paddock.Injection{{Secret: "A", File: "/a"}, {Secret: "B", File: "/b"}})
	if len(files) != 2 || files["B"] != "/b" {
		t.Error(files)
	}
}
