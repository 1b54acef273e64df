// Package granting keeps what a decision grants in little room, and makes the grant of
// it when somebody asks.
//
// What a policy says of a program is the same for all its requests, so it is pointed
// to, and only what is the request's own is kept beside it, in one text.
//
// # Limits
//
// It judges nothing: that the request is allowed is known to who makes a [Promise].
package granting

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/environ"
)

// A Promise is a grant that nobody asked for yet. It doesn't change, and holds nothing
// that who asked, or looked facts up, could change.
type Promise struct {
	made       atomic.Pointer[paddock.Grant]
	file       *compiled.File
	executable *compiled.Executable
	at         *paddock.Position // in the policy, so it isn't given away
	// text has the words of the command and then the variables that aren't the policy's,
	// a name and a value in turn.
	text      string
	root, dir string
	digest    paddock.Digest
	words     int
	replaced  bool // the policy's variables aren't set
	rest      *Rest
}

// Rest is what most requests have nothing of: what differs from what the policy says of the program.
type Rest struct {
	Interpreters []paddock.Interpreter
	Given        []string
	Account      *paddock.Account
	// Limits and Contain are the policy's where they are nil.
	Limits  *paddock.Limits
	Contain *paddock.ContainAs
}

// Asked is what is granted.
type Asked struct {
	Executable *compiled.Executable
	Rule       *paddock.Position
	Argv       []string
	Env        *environ.Vars
	Replaced   bool
	Root, Dir  string
	Digest     paddock.Digest
	Rest       Rest
}

// Of promises what file grants. Scratch is room that can be used again, and is returned.
func Of(file *compiled.File, a *Asked, scratch []byte) (*Promise, []byte) {
	scratch = scratch[:0]
	for _, w := range a.Argv {
		scratch = pack(scratch, w)
	}
	for i, name := range a.Env.Names {
		if a.Env.Own[i] {
			scratch = pack(pack(scratch, name), a.Env.Values[i])
		}
	}
	p := &Promise{
		file: file, executable: a.Executable, at: a.Rule, text: string(scratch), root: a.Root, dir: a.Dir, digest: a.Digest,
		words: len(a.Argv), replaced: a.Replaced,
	}
	r := &a.Rest
	if len(r.Interpreters) > 0 || len(r.Given) > 0 || r.Account != nil || r.Limits != nil || r.Contain != nil {
		rest := Rest{slices.Clone(r.Interpreters), r.Given, own(r.Account), own(r.Limits), own(r.Contain)}
		p.rest = &rest
	}
	return p, scratch
}

func pack(b []byte, word string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(word))), word...)
}

// unpack takes the first word from text.
func unpack(text string) (word, rest string) {
	size, n := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
	text = text[n:]
	return text[:size], text[size:]
}

// Grant makes the grant when it is first asked for. Nothing of it is the policy's: who
// changes it changes the next one's in no way.
func (p *Promise) Grant() *paddock.Grant {
	if g := p.made.Load(); g != nil {
		return g
	}
	e, rest := p.executable, p.rest
	if rest == nil {
		rest = &Rest{}
	}
	argv, text := make([]string, p.words), p.text
	for i := range argv {
		argv[i], text = unpack(text)
	}
	var env environ.Vars
	if !p.replaced {
		p.file.Variables(&env, e, nil, "", "")
	}
	for text != "" {
		var name, value string
		name, text = unpack(text)
		value, text = unpack(text)
		env.SetOwn(name, value)
	}
	list, names := env.List(rest.Given)
	limits := e.Limits
	if rest.Limits != nil {
		limits = *rest.Limits
	}
	var contain paddock.ContainAs
	if rest.Contain != nil {
		contain = *rest.Contain
	} else {
		contain = p.file.ContainFor(e, rest.Account)
	}
	g := &paddock.Grant{
		Executable: paddock.Executable{Name: e.Name, Path: e.Path, Digest: p.digest, Interpreters: slices.Clone(rest.Interpreters)},
		Argv:       argv, Root: p.root, Dir: p.dir,
		EnvironmentNames: names, Environment: list, Secrets: slices.Clone(rest.Given), Redact: p.file.Redact,
		Limits: limits, Contain: apart(contain), Rule: own(p.at),
	}
	if !p.made.CompareAndSwap(nil, g) {
		return p.made.Load() // somebody was faster
	}
	return g
}

// apart is as with lists of its own.
func apart(as paddock.ContainAs) paddock.ContainAs {
	as.Reach, as.Inject, as.Read = slices.Clone(as.Reach), slices.Clone(as.Inject), slices.Clone(as.Read)
	as.Write, as.Executes, as.Account = slices.Clone(as.Write), slices.Clone(as.Executes), own(as.Account)
	for i := range as.Inject {
		if p := own(as.Inject[i].Provider); p != nil {
			p.Argv, as.Inject[i].Provider = slices.Clone(p.Argv), p
		}
	}
	return as
}

// own returns a copy of what p points to.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
