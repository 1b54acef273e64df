package policy

import (
	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/policy/known/secret"
)

// For returns the policy that judges what room asks for: p itself for the caller's
// own commands, where room is empty, and nil where p says nothing of it. A provider's
// is "delegate/NAME".
func (p *Policy) For(room string) *Policy {
	if p == nil || room == "" {
		return p
	}
	if file := layered.Room(p.file, room); file != nil {
		if room == "git" { // nothing there gets a secret, and none is to be seen in what git prints
			file.Secrets, file.Given, file.Redact = p.file.Secrets, secret.Withheld(p.file.Given), p.file.Redact
		}
		return &Policy{file: *file, files: p.files, said: p.said, text: p.text, whole: p, room: room}
	}
	return nil
}

// Applied returns the policy that holds for what principal asks for in root: p, and
// those of its parts that are about either. As long as the root isn't known it is
// empty, and the parts about roots are left out. [Decide] does this by itself; what
// else depends on how a run is contained must ask, too.
func (p *Policy) Applied(principal paddock.Principal, root string) *Policy {
	if p.whole != nil {
		return p.whole.Applied(principal, root).For(p.room)
	}
	holds := make([]byte, 0, 32)
	parts := p.file.Narrow
	for i := range parts {
		if (parts[i].Root == "" || root != "") && parts[i].Holds(principal, root) {
			holds = append(holds, byte(i), byte(i>>8))
		}
	}
	if len(holds) == 0 {
		return p
	}
	if known := p.narrowed.Get(string(holds)); known != nil {
		return known
	}
	file := p.file
	for i := 0; i < len(holds); i += 2 {
		var faults []document.Fault
		if file, faults = layered.Narrow(file, parts[int(holds[i])|int(holds[i+1])<<8].Part); len(faults) > 0 {
			file.Contradicts = faults[0].Message
			break
		}
	}
	file.Narrow = nil
	out := &Policy{file: file, tests: p.tests, files: p.files, said: p.said, text: p.text, narrowed: p.narrowed}
	p.narrowed.Put(string(holds), out)
	return out
}

// ProvidersRoots is where those work who say secrets; nil where nobody does.
func (p *Policy) ProvidersRoots() []string { return p.file.ProvidersRoots() }

// Delegates says which agents may be given tasks, and how many; nil for none.
func (p *Policy) Delegates() *compiled.Delegates {
	if p == nil {
		return nil
	}
	return p.file.Delegates
}

// CheckFloor says what is wrong with data, a floor called name; the error is an [*Errors].
func CheckFloor(name string, data []byte) error {
	if faults := layered.Floor(name, data); len(faults) > 0 {
		return errorsOf(faults)
	}
	return nil
}

func errorsOf(faults []document.Fault) *Errors {
	errs := &Errors{}
	for _, f := range faults {
		errs.List = append(errs.List, Error{Position: f.At, Message: f.Message})
	}
	return errs
}
