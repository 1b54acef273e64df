//go:build linux

package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := dir + "/policy.yaml"
	if err := os.WriteFile(p, []byte("version: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, id, err := User().Open(p)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if id.Size != 10 {
		t.Errorf("identity %+v", id)
	}
	if err := os.Chmod(p, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := User().Open(p); err == nil || !strings.Contains(err.Error(), "policy.yaml can be written to by everyone") {
		t.Errorf("error %v", err)
	}
	if _, _, err := User().Open(dir + "/none"); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
	if _, _, err := User().Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

func TestAnotherUsersFileIsNotTrusted(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := UID(12345)
	if os.Geteuid() == 0 {
		owner = User()
		if err := os.Chown(p, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := owner.Open(p); err == nil || !strings.Contains(err.Error(), "neither root nor the user") {
		t.Errorf("error %v", err)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := User().Dir(dir); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := User().Dir(dir); err == nil || !strings.Contains(err.Error(), "by everyone") {
		t.Errorf("error %v", err)
	}
}
