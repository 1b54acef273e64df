package census

import (
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/books"
	"paddock/internal/rundir"
)

// used looks whether what is noted of use is what the runs say.
func (k *check) used() error {
	if k.state.ReadOnly() != nil { // it takes the claim
		return nil //nolint:nilerr // what can only be read has no claim to take
	}
	noted := &books.Books{State: k.state}
	return k.state.Claim(k.ctx, func(c *rundir.Claim) error {
		return noted.Wrong(k.ctx, c, k.e.Now(), func(path, why string, stranger bool) error {
			if stranger {
				return k.find(finding.Stranger, "", path, "", "%s", why)
			}
			return k.find(finding.Usage, "", path, finding.ByRebuild, "%s", why)
		})
	})
}
