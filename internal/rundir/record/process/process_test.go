package process

import (
	"errors"
	"os"
	"strings"
	"testing"

	"paddock"
)

func TestProcesses(t *testing.T) {
	t.Parallel()
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(self) {
		t.Error("we are not alive")
	}
	for name, change := range map[string]func(*paddock.Process){
		"another start":   func(p *paddock.Process) { p.StartTicks++ },
		"no start":        func(p *paddock.Process) { p.StartTicks = 0 },
		"another boot":    func(p *paddock.Process) { p.BootID = "another" },
		"no boot":         func(p *paddock.Process) { p.BootID = "" },
		"another process": func(p *paddock.Process) { p.PID = 1 },
		"no process":      func(p *paddock.Process) { p.PID = 0 },
		"a group":         func(p *paddock.Process) { p.PID = -p.PID },
	} {
		p := self
		change(&p)
		if Alive(p) {
			t.Errorf("%s: alive", name)
		}
	}
	if _, err := Of(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Of nothing: %v", err)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21"
	for _, c := range []struct {
		name, text string
		state      byte
		ticks      uint64
		bad        bool
	}{
		{"plain", "12 (cat) S" + rest, 'S', 987654, false},
		{"a name like a stat", "12 (a) Z 1 (b)) R" + rest, 'R', 987654, false},
		{"a name with a line break", "12 (a\nb) Z" + rest, 'Z', 987654, false},
		{"short", "12 (cat) S 1 2 3", 0, 0, true},
		{"no name", "12 cat S", 0, 0, true},
		{"empty", "", 0, 0, true},
		{"no number", "12 (cat) S" + strings.Replace(rest, "987654", "x", 1), 0, 0, true},
	} {
		state, ticks, err := parseStat([]byte(c.text))
		if (err != nil) != c.bad || !c.bad && (state != c.state || ticks != c.ticks) {
			t.Errorf("%s: %c, %d, %v", c.name, state, ticks, err)
		}
	}
}
