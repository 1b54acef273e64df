package secrets

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/egress/credential"
	"paddock/internal/policy/known/secret"
	"paddock/internal/trust"
)

// A Trove has all secrets of a policy, whoever gets them: what one program was given
// another may print. The zero Trove has none.
type Trove struct {
	// Facts is what was found of each.
	Facts map[string]secret.Facts

	owner    trust.Owner
	given    []paddock.Given
	injected []paddock.Injection
	carried  map[string]credential.Credential
	values   map[string]string // as programs print them
}

// Find reads those that files hold. An error is our own fault.
func Find(owner trust.Owner, given []paddock.Given, injected []paddock.Injection) (Trove, error) {
	t := Trove{owner: owner, given: given, injected: injected}
	if len(given)+len(injected) == 0 {
		return t, nil
	}
	t.Facts, t.carried, t.values = map[string]secret.Facts{}, map[string]credential.Credential{}, map[string]string{}
	var faults []error
	for _, g := range given {
		if g.Provider != nil {
			t.Facts[g.Secret] = secret.Facts{Asked: true}
			continue
		}
		value, facts, fault := Given(owner, g)
		faults = append(faults, fault)
		t.give(g, value, facts)
	}
	for _, i := range injected {
		if i.Provider != nil {
			t.Facts[i.Secret] = secret.Facts{Asked: true}
			continue
		}
		c, facts, fault := Read(owner, i)
		faults = append(faults, fault)
		t.inject(i, c, facts)
	}
	return t, errors.Join(faults...)
}

func (t *Trove) give(g paddock.Given, value string, facts secret.Facts) {
	t.Facts[g.Secret], t.values[g.Secret] = facts, value
}

func (t *Trove) inject(i paddock.Injection, c credential.Credential, facts secret.Facts) {
	facts.Short = t.Facts[i.Secret].Short
	t.carried[i.Secret], t.Facts[i.Secret] = c, facts
	t.values[i.Secret] = strings.TrimPrefix(c.Value, i.Prefix)
}

// Asked are the providers that weren't asked yet, each by the name of its secret.
func (t *Trove) Asked() map[string]paddock.Provider {
	asked := map[string]paddock.Provider{}
	for _, g := range t.given {
		if g.Provider != nil && t.Facts[g.Secret].Asked {
			asked[g.Secret] = *g.Provider
		}
	}
	for _, i := range t.injected {
		if i.Provider != nil && t.Facts[i.Secret].Asked {
			asked[i.Secret] = *i.Provider
		}
	}
	return asked
}

// Answer takes what the provider of the named secret said, or the problem that there
// was. An error is our own fault.
func (t *Trove) Answer(name string, text []byte, problem string) error {
	const from = "what its provider says"
	value, trimmed, err := within(from, text)
	if problem == "" && err != nil {
		problem = err.Error()
	}
	for _, g := range t.given {
		switch {
		case g.Secret != name:
		case problem != "":
			t.give(g, "", secret.Facts{Problem: problem})
		default:
			value, facts := given(from, value, trimmed)
			t.give(g, value, facts)
		}
	}
	var faults []error
	for _, i := range t.injected {
		switch {
		case i.Secret != name:
		case problem != "":
			t.inject(i, credential.Credential{}, secret.Facts{Problem: problem})
		default:
			c, facts, fault := injected(t.owner, i, from, value, trimmed)
			faults = append(faults, fault)
			t.inject(i, c, facts)
		}
	}
	return errors.Join(faults...)
}

// Carried refuses variables that carry one of the secrets, see [Carried].
func (t *Trove) Carried(variables []string) []paddock.Refusal { return Carried(t.values, variables) }

// Sealed is what the proxy of a run must know, whose requests carry list; nil for
// nothing.
func (t *Trove) Sealed(list []paddock.Injection) (*os.File, error) {
	var granted []credential.Credential
	for _, i := range list {
		if !t.Facts[i.Secret].Found {
			return nil, unasked(i.Secret)
		}
		granted = append(granted, t.carried[i.Secret])
	}
	if granted == nil {
		return nil, nil
	}
	return credential.Seal(granted)
}

// Known is what the supervisor of a run must know whose program gets the named secrets;
// nil for nothing.
func (t *Trove) Known(names []string) (*os.File, error) {
	for name := range maps.Keys(t.Facts) {
		if f := t.Facts[name]; f.Asked || !f.Found && slices.Contains(names, name) {
			return nil, unasked(name)
		}
	}
	return Seal(names, t.values)
}

func unasked(name string) error {
	return errors.New("bug: the secret " + name + " is handed over before it is known")
}
