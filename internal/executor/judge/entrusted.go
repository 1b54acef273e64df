package judge

import (
	"os"

	"paddock"
	"paddock/internal/executor/judge/secrets"
	"paddock/internal/executor/judge/source"
	"paddock/internal/policy"
)

// Asked are the programs that must be asked for secrets before the run can start, each
// by the name of its secret.
func (j *Judgement) Asked() map[string]paddock.Provider { return j.trove.Asked() }

// Asking is a Judge like j of what must be asked for of: by the policy that judged that,
// whatever j's is, and whatever its file says meanwhile.
func (j *Judge) Asking(of *Judgement) *Judge {
	other := *j
	other.cfg.Policy = source.Held(of.whole)
	return &other
}

// Answered takes what the provider of the named secret said, or the problem that there
// was.
func (j *Judgement) Answered(name string, text []byte, problem string) error {
	return j.trove.Answer(name, text, problem)
}

// Provided returns what stands against the request now that providers were asked. The
// decision must allow.
func (j *Judgement) Provided() error {
	j.facts.Secrets = j.trove.Facts
	if refusal := policy.Decide(j.policy, j.request, j.facts).Refusal(); refusal != nil {
		return refusal
	}
	for _, refusal := range j.carried() {
		return &refusal
	}
	return nil
}

// Sealed returns the secrets that the grant's requests carry, for the run's proxy;
// nil if there are none. The decision must allow.
func (j *Judgement) Sealed() (*os.File, error) {
	return j.trove.Sealed(j.Decision.Grant().Contain.Inject)
}

// Known returns what the run's supervisor must know of secrets: those that the
// program gets, and all that its output must not show; nil if there are none. The
// decision must allow.
func (j *Judgement) Known() (*os.File, error) { return j.trove.Known(j.Decision.Grant().Secrets) }

// carried refuses variables that carry a secret within their value, or in another
// form: the policy knows values by their digests only.
func (j *Judgement) carried() []paddock.Refusal {
	grant := j.granted()
	if grant == nil {
		return nil
	}
	return j.trove.Carried(grant.Environment)
}

// entrusted reads the secrets of the policy that files hold.
func (j *Judgement) entrusted(by *Judge, wanted policy.Wanted) {
	var fault error
	j.trove, fault = secrets.Find(by.owner, wanted.Given, wanted.Secrets)
	j.failed(fault)
	j.facts.Secrets = j.trove.Facts
}
