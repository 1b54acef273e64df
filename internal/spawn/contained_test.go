package spawn

import (
	"os"
	"testing"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/denied"
)

func contained(t *testing.T, level paddock.Level, script string) (string, error) {
	t.Helper()
	root := t.TempDir()
	exe, dir := opened(t, "/bin/sh"), opened(t, root)
	id, err := contain.IdentityOf(exe)
	if err != nil {
		t.Fatal(err)
	}
	start, err := contain.IdentityOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := contain.NewPlan(contain.Wish{
		Level: level, Root: root, Dir: root, Programs: []string{"/bin/sh"}, Network: "none", OpenFiles: 256, Exec: id, Start: start,
	}, contain.Probe())
	if err != nil {
		return "", err
	}
	ours, theirs, err := OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	null := opened(t, "/dev/null")
	p, err := Start(Spec{
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, Exec: exe, Stdin: null, Stdout: theirs, Stderr: theirs,
		Plan: plan, Isolation: contain.Isolations(os.Geteuid()), Name: "contained",
	})
	theirs.Close()
	if err != nil {
		return "", err
	}
	heard := denied.Listen(p.Listener(), 0)
	r := &running{Program: p, stdout: ours}
	out := r.rest(t)
	<-p.Done()
	for _, d := range heard.Denials(true) {
		out += d.Text + "\n"
	}
	return out, nil
}

func TestFull(t *testing.T) {
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		out, err := contained(t, level, `id; pwd; ls -la / /etc /dev; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp'; ps ax 2>/dev/null | head; touch x && ls -la; touch /usr/x; ls /root; cat /etc/shadow; ip addr; mount | head -40; echo 1 > /proc/sys/kernel/core_pattern; unshare -U true`)
		t.Logf("%s: %v\n%s", level, err, out)
	}
}
