package compiled

import (
	"cmp"
	"maps"
	"path"

	"paddock"
	"paddock/internal/policy/compiled/document/shape/spelling"
	"paddock/internal/policy/compiled/pattern/program"
)

// Pins returns the digest that each path is pinned to; where names share a path
// the first pin is that of the path.
func (f *File) Pins() map[string]paddock.Digest {
	pins := map[string]paddock.Digest{}
	maps.Copy(pins, f.pins)
	for _, e := range f.Executables {
		if e.Pin != "" && pins[e.Path] == "" {
			pins[e.Path] = e.Pin
		}
	}
	return pins
}

// Pinned says what e is pinned to, and refuses where it or an interpreter that it
// leads to isn't what the policy pins it to. found is the digest of e's own file.
func (f *File) Pinned(e *Executable, found paddock.Digest, interpreters []paddock.Interpreter) (detail string, changed *paddock.Refusal) {
	if e.Pin != "" && found != e.Pin {
		return "", f.changed(e.Path, e.Word(), found, e.Pin)
	}
	for _, i := range interpreters {
		// env is followed and never executed.
		if pin := cmp.Or(f.pins[i.Path], program.PinOf(f.Executables, i.Path)); pin != "" && i.Digest != pin && path.Base(i.Path) != "env" {
			return "", f.changed(i.Path, i.Path, i.Digest, pin)
		}
	}
	if e.Pin == "" {
		return "not pinned", nil
	}
	return "pinned to " + e.Pin.Short(), nil
}

func (f *File) changed(path, word string, found, pin paddock.Digest) *paddock.Refusal {
	r := paddock.Refused(paddock.ExecutableChanged, "%s isn't the file that the policy pinned: its digest is %s, pinned is %s.", path, cmp.Or(string(found), "unknown"), pin)
	r.Hint = "If the change is expected, the operator runs `paddock policy pin --file " + spelling.ShellWord(f.Name) + " " + spelling.ShellWord(word) + "`."
	return r
}
