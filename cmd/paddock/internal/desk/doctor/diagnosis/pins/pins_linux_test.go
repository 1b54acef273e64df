package pins

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/policy"
)

// What is pinned is told as a run of it would find it.
func TestLook(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	list.WriteString("version: 1\nroots: [{path: /srv}]\nexecutables:\n")
	for name, text := range map[string]string{"binary": string(program), "script": "#!/bin/sh\n", "changed": string(program), "open": string(program)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o755), os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "  - {path: %q, args: any, sha256: %x}\n", path, sha256.Sum256([]byte(text)))
	}
	fmt.Fprintf(&list, "  - {path: %q, args: any, sha256: %x}\n  - {path: /bin/true, args: any}\n", filepath.Join(dir, "missing"), sha256.Sum256(nil))
	if err := os.WriteFile(filepath.Join(dir, "changed"), append(program, 'x'), 0o755); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(filepath.Join(dir, "open"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	p, err := policy.Load("p", []byte(list.String()))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Look(t.Context(), nil, p)
	if err != nil || len(found) != 5 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, f := range found {
		path, says, _ := strings.Cut(f.Text, ": ")
		want := map[string]string{
			"binary": "held by a lease", "script": "sealed copy", "changed": "another file now", "missing": "isn't there", "open": "it is open for writing",
		}[filepath.Base(path)]
		if fine := filepath.Base(path) == "binary" || filepath.Base(path) == "script"; !strings.Contains(says, want) || fine != (f.Remedy == "") {
			if strings.Contains(says, "gives no leases") || strings.Contains(says, "root alone can change it") {
				continue // that depends on the file system, and on who we are
			}
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

// Programs that say secrets are looked at as others are, pinned or not, and not asked.
func TestLookAtWhoSaysSecrets(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "vault")
	if err := errors.Join(os.WriteFile(script, []byte("#!/bin/sh\n: > "+dir+"/asked\n"), 0o755), os.Chmod(script, 0o755)); err != nil {
		t.Fatal(err)
	}
	head := "version: 1\nroots: [{path: /srv}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\nsecrets:\n"
	text := fmt.Sprintf("%s  A: {exec: [%q], sha256: %x, env_for: [sh]}\n  B: {exec: [%q, b], sha256: %x, env_for: [sh]}\n  C: {exec: [/bin/true], env_for: [sh]}\n  D: {exec: [%q], env_for: [sh]}\n  E: {file: /e, env_for: [sh]}\n",
		head, script, sha256.Sum256(nil), script, sha256.Sum256([]byte("#!/bin/sh\n: > "+dir+"/asked\n")), dir+"/none")
	p, err := policy.Load("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Look(t.Context(), p)
	if err != nil || len(found) != 4 {
		t.Fatalf("%v, %v", found, err)
	}
	for i, want := range []string{"A: " + script + ": it is another file now", "B: " + script + ": ", "C: /bin/true: not pinned", "D: " + dir + "/none: it isn't there"} {
		if f := found[i]; f.Name != "secret" || !strings.HasPrefix(f.Text, want) || (i == 0 || i == 3) != (f.Remedy != "") {
			t.Errorf("%+v, want %q", f, want)
		}
	}
	if _, err := os.Stat(dir + "/asked"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was asked: %v", err)
	}
	floor := policy.Source{Name: "/etc/floor", Data: []byte("version: 1\nexecutables: [{name: sh, path: /bin/sh, args: any}]\n"), Floor: true}
	if p, err = policy.Load("p", []byte(head+"  A: {exec: [/bin/true], env_for: [sh]}\n"), floor); err != nil {
		t.Fatal(err)
	}
	if found, err = Look(t.Context(), p); err != nil || len(found) != 1 || found[0].Remedy == "" || !strings.Contains(found[0].Text, "doesn't permit") {
		t.Errorf("%v, %v", found, err)
	}
}

// An attempt leaves nothing, and one that succeeds is told.
func TestAttempt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := Attempt(t.Context(), dir)
	if !strings.Contains(f.Text, "a sealed copy of a script can't be written") || (f.Remedy == "") != strings.Contains(f.Text, "a held binary can't be opened for writing") {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if f := Attempt(t.Context(), filepath.Join(dir, "none")); !strings.Contains(f.Text, unix.ENOENT.Error()) || f.Remedy != "" {
		t.Errorf("%+v", f)
	}
}
