package paddock

import "strings"

// MaxPrincipal is how many bytes the id of a principal has at most that has delegates
// with tools: each level adds to it.
const MaxPrincipal = 4096

// behalf is between a principal's id and that of its delegate.
const behalf = " > "

// Delegate is the principal in whose name the delegate called id, of the provider of
// that name, asks for p: an agent of its own, whose id says for whom it works.
func (p Principal) Delegate(provider, id string) Principal {
	return Principal{Kind: Agent, ID: p.ID + behalf + string(p.Kind) + "/" + provider + "/" + id}
}

// Above returns for whom p works, if it is a delegate, and by which provider.
func (p Principal) Above() (above Principal, provider string, ok bool) {
	i := strings.LastIndex(p.ID, behalf)
	if i < 0 || p.Kind != Agent {
		return Principal{}, "", false
	}
	words := strings.Split(p.ID[i+len(behalf):], "/")
	if len(words) != 3 || words[1] == "" || words[2] == "" {
		return Principal{}, "", false
	}
	switch kind := PrincipalKind(words[0]); kind {
	case Operator, Agent, Host:
		return Principal{Kind: kind, ID: p.ID[:i]}, words[1], true
	}
	return Principal{}, "", false
}

// DelegateID is that of the delegate that p is; empty if it is none.
func (p Principal) DelegateID() string {
	if _, _, ok := p.Above(); !ok {
		return ""
	}
	return p.ID[strings.LastIndexByte(p.ID, '/')+1:]
}

// Root is for whom p works in the end; p itself where it is no delegate. What is
// counted, as runs at once and quotas, is counted for it.
func (p Principal) Root() Principal {
	for {
		above, _, ok := p.Above()
		if !ok {
			return p
		}
		p = above
	}
}

// Answers reports whether id is p's, or of somebody for whom p works.
func (p Principal) Answers(id string) bool {
	for {
		above, _, ok := p.Above()
		if p.ID == id || !ok {
			return p.ID == id
		}
		p = above
	}
}

// Named reports whether p's id can be told from that of a delegate.
func (p Principal) Named() bool { return !strings.Contains(p.ID, behalf) }
