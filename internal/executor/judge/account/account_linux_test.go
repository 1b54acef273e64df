package account

import (
	"os"
	"strings"
	"testing"

	"paddock"
)

const everybody = "         0          0 4294967295\n"

func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		level paddock.Level
		runAs string
		euid  int
		ids   string
		want  string // of the account, or in the refusal
	}{
		{paddock.Full, "", 0, everybody, ""},
		{paddock.Full, "", 0, "0 1000 1\n1 100000 65536\n", "lacks the uid 1900000000"},
		{paddock.Full, "", 0, "", "lacks the uid 1900000000"},
		{paddock.Standard, "", 0, everybody, "Paddock is root, and at level standard"},
		{paddock.Full, "7", 1000, everybody, "`run_as: 7` needs root, and Paddock is uid 1000"},
		{paddock.Off, "7", 1000, everybody, "needs root"},
		{paddock.Off, "54321", 0, everybody, "uid 54321, gid 54321"},
		{paddock.Full, "54321:12345", 0, everybody, "uid 54321, gid 12345"},
		{paddock.Standard, "nobody", 0, everybody, "nobody, uid 65534, gid "},
		{paddock.Standard, "65534", 0, everybody, "nobody, uid 65534, gid "},
		{paddock.Full, "54321", 0, "0 1000 1\n1 100000 1000\n", "uid 54321 isn't among those"},
		{paddock.Full, "no-such-user", 0, everybody, "`run_as: no-such-user`: there is no such user"},
		{paddock.Full, "root", 0, everybody, "0 is root's"},
		{paddock.Full, "0", 0, everybody, "0 is root's"},
		{paddock.Full, "7:0", 0, everybody, "0 is root's"},
		{paddock.Full, "4294967296", 0, everybody, "there is no such user"},
		{paddock.Full, "7:4294967296", 0, everybody, "value out of range"},
		{paddock.Full, "-1", 0, everybody, "there is no such user"},
	} {
		found, refusal, err := find(paddock.ContainAs{Level: tt.level, RunAs: tt.runAs}, tt.euid, tt.ids)
		if err != nil {
			t.Error(err)
		}
		got := ""
		switch {
		case refusal != nil && (found != nil || refusal.Code != paddock.ContainmentUnavailable || refusal.Hint == ""):
			t.Errorf("%+v: %v and %+v", tt, found, refusal)
		case refusal != nil:
			got = refusal.Message
		case found != nil:
			got = found.String()
		}
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s, `%s`, euid %d: %q, want %q", tt.level, tt.runAs, tt.euid, got, tt.want)
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	// Directories above are the test's, as far as they are of this machine; so look from the root on.
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/closed/home", 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/closed", 0o700); err != nil {
		t.Fatal(err)
	}
	r := Reach(paddock.Account{UID: 54321, GID: 54321}, dir+"/closed/home")
	if r == nil || r.Code != paddock.ContainmentUnavailable || !strings.Contains(r.Message, "may not pass through "+dir+"/closed") || !strings.Contains(r.Hint, "chmod o+x "+dir+"/closed") {
		t.Errorf("%+v", r)
	}
	if r := Reach(paddock.Account{UID: 54321, GID: 54321}, "/usr/bin"); r != nil {
		t.Errorf("it can't get to /usr/bin: %v", r)
	}
	if r := Reach(paddock.Account{UID: 54321, GID: 54321}, dir+"/nothing/home"); r == nil {
		t.Error("there is nothing, and it can get there")
	}
}
