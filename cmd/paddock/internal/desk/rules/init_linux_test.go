package rules

import (
	"os"
	"strings"
	"testing"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/testproc"
)

// Root's own state directory is often closed to the account that its runs get: who
// makes a policy is told before the first run is refused.
func TestUnreachableHome(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root's runs have another account")
	}
	dir := t.TempDir()
	at := func(state string) commands {
		return commands{&desk.Desk{Screen: screen.Screen{Getenv: func(string) string { return "" }}, State: state}}
	}
	as := paddock.ContainAs{Level: paddock.Standard, RunAs: "54321"}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if hint := at(dir + "/not/yet").unreachable(as); !strings.Contains(hint, "may not pass through "+dir) || !strings.Contains(hint, "--state") {
		t.Errorf("a closed directory: %q", hint)
	}
	if hint := at("/not-there/at/all").unreachable(as); hint != "" {
		t.Errorf("an open directory: %q", hint)
	}
	as.Level = paddock.Full
	if hint := at(dir).unreachable(as); hint != "" {
		t.Errorf("at full nobody needs to get there: %q", hint)
	}
}
