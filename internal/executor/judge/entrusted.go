package judge

import (
	"maps"
	"os"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/egress/credential"
	"paddock/internal/executor/judge/secrets"
	"paddock/internal/policy"
	"paddock/internal/policy/known/secret"
	"paddock/internal/redact"
	"paddock/internal/trust"
)

// entrusted reads all secrets of the policy, whoever gets them: what one program was
// given another may print.
func (j *Judgement) entrusted(owner trust.Owner, wanted policy.Wanted) {
	if len(wanted.Secrets)+len(wanted.Given) == 0 {
		return
	}
	j.secrets, j.values, j.facts.Secrets = map[string]credential.Credential{}, map[string]string{}, map[string]secret.Facts{}
	for _, g := range wanted.Given {
		value, facts, fault := secrets.Given(owner, g)
		j.failed(fault)
		j.facts.Secrets[g.Secret] = facts
		j.values[g.Secret] = value
	}
	for _, i := range wanted.Secrets {
		c, facts, fault := secrets.Read(owner, i)
		j.failed(fault)
		facts.Short = j.facts.Secrets[i.Secret].Short
		j.secrets[i.Secret], j.facts.Secrets[i.Secret] = c, facts
		j.values[i.Secret] = strings.TrimPrefix(c.Value, i.Prefix)
	}
}

// Sealed returns the secrets that the grant's requests carry, for the run's proxy;
// nil if there are none. The decision must allow.
func (j *Judgement) Sealed() (*os.File, error) {
	var granted []credential.Credential
	for _, i := range j.Decision.Grant.Contain.Inject {
		granted = append(granted, j.secrets[i.Secret])
	}
	if granted == nil {
		return nil, nil
	}
	return credential.Seal(granted)
}

// Known returns what the run's supervisor must know of secrets: those that the
// program gets, and all that its output must not show; nil if there are none. The
// decision must allow.
func (j *Judgement) Known() (*os.File, error) {
	var known credential.Known
	for _, name := range j.Decision.Grant.Secrets {
		known.Env = append(known.Env, name+"="+j.values[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.values)) {
		if len(j.values[name]) >= redact.MinValue {
			known.Hide = append(known.Hide, j.values[name])
		}
	}
	if known.Env == nil && known.Hide == nil {
		return nil, nil
	}
	return credential.SealKnown(known)
}

// carried refuses variables that carry a secret within their value, or in another
// form: the policy knows values by their digests only.
func (j *Judgement) carried() []paddock.Refusal {
	grant := j.Decision.Grant
	if grant == nil {
		return nil
	}
	return secrets.Carried(j.values, grant.Environment)
}
