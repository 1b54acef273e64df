package document

import (
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/form"
	"paddock/internal/policy/compiled/document/shape/table"
)

// ReadFloor reads a file that every policy of the machine is held to.
func ReadFloor(name string, data []byte) (File, []Fault) {
	b := builder{name: name}
	v := b.read(data, table.Floor)
	f := b.narrowed(v)
	f.Narrow = b.narrow(v)
	return f, b.faults
}

// FloorSchema returns the JSON Schema of such a file.
func FloorSchema() []byte {
	return shape.SchemaText(table.Floor, "Floor of a machine's Paddock policies")
}

// narrow reads the parts that hold for some requests only.
func (b *builder) narrow(v *shape.Value) []Narrowing {
	var out []Narrowing
	for _, item := range v.Get("roots").Items() {
		if n := item.Get("narrow"); n != nil {
			out = append(out, Narrowing{At: b.at(item), Root: b.text(item.Get("path")), Part: b.narrowed(n), Text: form.Said(n)})
		}
	}
	for _, item := range v.Get("principals").Items() {
		out = append(out, Narrowing{
			At: b.at(item), Kind: b.text(item.Get("kind")).Value, ID: b.text(item.Get("id")), Part: b.narrowed(item.Get("narrow")),
			Text: form.Said(item.Get("narrow")),
		})
	}
	for _, e := range v.Get("delegates").Get("providers").Pairs() {
		if n := e.Value.Get("narrow"); n != nil {
			out = append(out, Narrowing{At: b.at(n), Provider: e.Key.Text, Part: b.narrowed(n), Text: form.Said(n)})
		}
	}
	return out
}

func (b *builder) narrowed(v *shape.Value) File {
	f := b.part(v)
	b.fixed(v)
	return f
}

// onlyNarrower refuses what a policy that narrows another can't say.
func (b *builder) onlyNarrower(v *shape.Value) {
	for _, e := range v.Pairs() {
		switch e.Key.Text {
		case "secrets", "redact", "retention", "git", "approvals", "launch", "delegates":
			b.fault(e.Key, "`"+e.Key.Text+"` can't be narrower, so only the policy that extends no other has it; say it there")
		}
	}
	if r := v.Get("limits").Get("reserve"); r != nil {
		b.fault(r, "the reserve is the disk's and not a request's, so only the policy that extends no other has it; say it there")
	}
	b.fixed(v)
}

// fixed refuses fixed values of variables: none is narrower than another.
func (b *builder) fixed(v *shape.Value) {
	environments := []*shape.Value{v.Get("environment")}
	for _, item := range v.Get("executables").Items() {
		environments = append(environments, item.Get("environment"))
	}
	for _, e := range environments {
		if set := e.Get("set"); set != nil {
			b.fault(set, "a variable's value is neither narrower nor wider than another, so only the policy that extends no other sets any; set it there")
		}
	}
}
