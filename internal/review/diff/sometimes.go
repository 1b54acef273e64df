package diff

import (
	"slices"

	"paddock/internal/review/diff/measure"
)

// sometimes compares the parts that hold for some requests only, by how they read.
func (d *differ) sometimes() {
	o, n := measure.Parts(d.old.file.Narrow), measure.Parts(d.new.file.Narrow)
	for _, one := range o {
		if !slices.ContainsFunc(n, one.Same) {
			d.add(Unclear, one.At, one.Where, "What held for some requests only is gone or says something else; what only it refused is allowed now, and what that is can't be told.")
		}
	}
	for _, one := range n {
		if !slices.ContainsFunc(o, one.Same) {
			d.add(Narrowed, one.At, one.Where, "A part is new that holds for some requests; it refuses more and allows nothing.")
		}
	}
}
