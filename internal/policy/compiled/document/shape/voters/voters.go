// Package voters finds what is wrong with a policy's list of who approves.
//
// # Limits
//
// It knows neither the rules that ask nor who asks: what nobody can approve is for
// lint to find.
package voters

import (
	"encoding/base64"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
)

// A Fault is one thing that is wrong.
type Fault struct {
	At      *shape.Value
	Message string
}

// Check finds what is wrong with a, which was read from v. Two entries with one key,
// or two names for one person, would be two persons where there is one.
func Check(a paddock.Approvals, v *shape.Value) []Fault {
	c := checker{names: map[string]bool{}, keys: map[string]bool{}, accounts: map[string]string{}, owners: map[string]string{}}
	people := map[string]bool{}
	for i, item := range v.Get("keys").Items() {
		k := a.Keys[i]
		people[k.Person()] = true
		c.listed(item, k.Name, k.Key)
		c.person(item, k)
	}
	if at := v.Get("approvers"); at != nil && a.Approvers > len(people) { // one is wanted where it doesn't say
		c.fault(at, "more must approve than there are persons with keys; list more, or ask fewer")
	}
	for i, item := range v.Get("verifiers").Items() {
		c.listed(item, a.Verifiers[i].Name, a.Verifiers[i].Key)
	}
	return c.faults
}

type checker struct {
	names, keys      map[string]bool
	accounts, owners map[string]string // by the principal, and by the account
	faults           []Fault
}

func (c *checker) fault(at *shape.Value, message string) {
	c.faults = append(c.faults, Fault{at, message})
}

func (c *checker) listed(item *shape.Value, name, key string) {
	switch {
	case c.names[name]:
		c.fault(item.Get("name"), "this name is listed before; a person, and a verifier, has one key")
	case c.keys[key]:
		c.fault(item.Get("key"), "this key is listed before; each person, and each verifier, has one of their own")
	}
	if raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(key, "ed25519:")); key != "" && (err != nil || len(raw) != 32) {
		c.fault(item.Get("key"), "it isn't a key: want what paddock approve key prints")
	}
	c.names[name], c.keys[key] = true, true
}

// person finds accounts of two principals, and principals of two accounts.
func (c *checker) person(item *shape.Value, k paddock.ApprovalKey) {
	if k.Account != "" {
		if owner, known := c.owners[k.Account]; known && owner != k.Principal {
			c.fault(item.Get("account"), "this account is another principal's above; say the same `principal` beside it")
		}
		c.owners[k.Account] = k.Principal
	}
	if k.Principal != "" {
		if account, known := c.accounts[k.Principal]; known && account != k.Account {
			c.fault(item.Get("principal"), "this principal has another `account` above; say the same beside it")
		}
		c.accounts[k.Principal] = k.Account
	}
}
