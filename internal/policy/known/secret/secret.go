// Package secret judges a request by what was found of a policy's secrets: that
// those it would use can be used, and that no variable holds the value of one.
//
// # Limits
//
// It knows values by their digests only, so it finds a value that is a variable's
// whole text and not one that is a part of it.
package secret

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"paddock"
)

// Facts is what was found of one secret. The zero value is that of one that
// nobody has looked at, which can't be used.
type Facts struct {
	Found bool
	// Asked is set for one that a program will be asked for when all else allows: until
	// then nothing of it is known.
	Asked bool
	// Problem says in words why it can't be used, when it can't.
	Problem string
	// Short is set when it has too few bytes to be hidden in output.
	Short bool
	// Digests are of the texts that give it away, see [Digests].
	Digests []paddock.Digest
	// Trimmed is set when a final line break of the file was left out.
	Trimmed bool
}

// Digests are those of a secret's value and of the header that carries it.
func Digests(prefix, value string) []paddock.Digest {
	digests := []paddock.Digest{digest(value)}
	if prefix != "" {
		digests = append(digests, digest(prefix+value))
	}
	return digests
}

func digest(text string) paddock.Digest { return paddock.DigestOf(sha256.Sum256([]byte(text))) }

// Refusals are the reasons against a request that uses injections.
func Refusals(injections []paddock.Injection, found map[string]Facts) (refusals []*paddock.Refusal) {
	for _, i := range injections {
		switch f := found[i.Secret]; {
		case f.Problem != "":
			refusals = append(refusals, paddock.Refused(paddock.SecretUnavailable, "The secret %s can't be used: %s.", i.Secret, f.Problem))
		case !f.Found && !f.Asked:
			refusals = append(refusals, paddock.Refused(paddock.SecretUnavailable, "The secret %s can't be used: nobody has looked at it.", i.Secret))
		}
	}
	return refusals
}

// GivenTo returns the names of the secrets that the program with this word gets as
// variables.
func GivenTo(list []paddock.Given, word string) (names []string) {
	for _, g := range list {
		if slices.Contains(g.To, word) {
			names = append(names, g.Secret)
		}
	}
	return names
}

// Withheld are the same secrets, and no program gets one.
func Withheld(list []paddock.Given) (out []paddock.Given) {
	for _, g := range list {
		out = append(out, paddock.Given{Secret: g.Secret, File: g.File, Provider: g.Provider})
	}
	return out
}

// Twice are the reasons against a request that sets the named secrets, too: vars are
// the names of its variables, sorted.
func Twice(names, vars []string) (refusals []*paddock.Refusal) {
	for _, name := range names {
		if _, twice := slices.BinarySearch(vars, name); twice {
			refusals = append(refusals, paddock.Refused(paddock.SecretInEnvironment, "The program gets %s from the policy's secrets, so nobody else may set it.", name))
		}
	}
	return refusals
}

// Ungiven are the reasons against a request whose program gets the named secrets
// as variables.
func Ungiven(names []string, found map[string]Facts) (refusals []*paddock.Refusal) {
	for _, name := range names {
		switch f := found[name]; {
		case f.Problem != "":
			refusals = append(refusals, paddock.Refused(paddock.SecretUnavailable, "The secret %s can't be used: %s.", name, f.Problem))
		case !f.Found && !f.Asked:
			refusals = append(refusals, paddock.Refused(paddock.SecretUnavailable, "The secret %s can't be used: nobody has looked at it.", name))
		case f.Short:
			refusals = append(refusals, paddock.Refused(paddock.SecretUnavailable, "The secret %s can't be given to a program: it has fewer than 8 bytes, and what is so short can't be hidden in output.", name))
		}
	}
	return refusals
}

// Named says which secrets a program gets, for people; "" if none.
func Named(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " and the secrets " + strings.Join(names, ", ")
}

// Held says which of the variables vars holds the value of which secret, in words.
func Held(vars, values []string, found map[string]Facts) (words []string) {
	if len(found) == 0 { // as for most: no work then
		return nil
	}
	names := map[paddock.Digest]string{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		for _, d := range found[name].Digests {
			names[d] = name
		}
	}
	if len(names) == 0 {
		return nil
	}
	for i, variable := range vars {
		if name, is := names[digest(values[i])]; is {
			words = append(words, fmt.Sprintf("%s, which has the value of the secret %s", variable, name))
		}
	}
	return words
}

// Notes says whose final line break was left out, and whose value can't be looked for
// in output, for people; "" if no one's.
func Notes(injections []paddock.Injection, given []string, found map[string]Facts) (text string) {
	for _, i := range injections {
		if found[i.Secret].Trimmed {
			text += "; the line break at the end of " + i.Secret + " isn't sent"
		}
	}
	for _, name := range given {
		if found[name].Trimmed {
			text += "; the line break at the end of " + name + " isn't given"
		}
	}
	if len(found) == 0 {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch f := found[name]; {
		case f.Problem != "":
			text += "; " + name + " can't be read, so it isn't looked for in output"
		case f.Asked:
			text += "; " + name + " is asked for when the run starts"
		case !f.Found:
			text += "; " + name + " can't be read, so it isn't looked for in output"
		}
	}
	return text
}
