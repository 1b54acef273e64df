// Package pins finds out whether what is pinned is held here to the bytes that were
// judged: on a file system, and of what a policy names.
//
// # Limits
//
// It looks at programs as a run of them would, and starts none.
package pins

import (
	"context"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/executor/judge/facts"
	"paddock/internal/executor/judge/facts/pinned"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/environ"
)

// Attempt tries to rewrite, in a directory, a binary that is held as pinned ones are,
// and the copy that is made of a script.
func Attempt(ctx context.Context, dir string) diagnosis.Fact {
	f := diagnosis.Fact{Name: "pins", Text: "in " + dir + ": "}
	file, err := os.CreateTemp(dir, "paddock-doctor-")
	if err != nil {
		f.Text += err.Error()
		return f
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString("#!/bin/sh\n")
	if err = errors.Join(err, file.Close()); err == nil {
		file, err = os.Open(file.Name())
	}
	if err == nil {
		defer file.Close()
		err = rewrite(file)
	}
	switch {
	case errors.Is(err, pinned.ErrNoLease):
		f.Text += "no leases, so a pinned binary of this account's can't be held there"
		f.Remedy = "Keep pinned binaries where root alone can change them, or on a file system of this machine's own."
	case err != nil:
		f.Text += "a held binary: " + err.Error()
		f.Remedy = "Don't count on pins of what this account can change, and report it."
	default:
		f.Text += "a held binary can't be opened for writing"
	}
	if err := seal(ctx, file); err != nil {
		f.Text += "; a copy of a script: " + err.Error()
		f.Remedy = "Keep pinned scripts where root alone can change them."
	} else {
		f.Text += "; a sealed copy of a script can't be written"
	}
	return f
}

var errRewritten = errors.New("it can be written all the same")

// rewrite takes a lease, as on pinned binaries, and opens the file to write.
func rewrite(file *os.File) error {
	if err := pinned.Hold(file); err != nil {
		return err
	}
	fd, err := unix.Open(file.Name(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EAGAIN) {
		return nil
	}
	if err == nil {
		err = errors.Join(errRewritten, unix.Close(fd))
	}
	return err
}

func seal(ctx context.Context, file *os.File) error {
	sealed, _, err := pinned.Copy(ctx, file)
	if err != nil {
		return err
	}
	defer sealed.Close()
	if _, err := sealed.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		return errors.Join(errRewritten, err)
	}
	return nil
}

// Look says of what is pinned in policies, nil ones among them, whether runs of it
// would be refused, and how it is held. A remedy is there where they would. Of programs
// that say secrets, the pinned and the others, it says so, too.
func Look(ctx context.Context, policies ...*policy.Policy) ([]diagnosis.Fact, error) {
	var all []diagnosis.Fact
	finder := facts.New()
	for _, p := range policies {
		if p == nil {
			continue
		}
		for _, word := range p.Words() {
			w := wanted(p, word)
			if !w.Pinned {
				continue
			}
			fact, err := pin(ctx, finder, w, query(p, w))
			if err != nil {
				return nil, err
			}
			all = append(all, fact)
		}
		for _, secret := range said(p) {
			fact, err := provider(ctx, finder, p.For(paddock.SecretRoom+secret), secret)
			if err != nil {
				return nil, err
			}
			all = append(all, fact)
		}
	}
	return all, nil
}

func wanted(p *policy.Policy, word string) policy.Wanted {
	return p.Wanted(paddock.Request{Command: paddock.Command{Argv: []string{word}}})
}

func query(p *policy.Policy, w policy.Wanted) facts.Query {
	return facts.Query{Wanted: w, SearchPath: environ.Path(p.Executables()), PrivateFiles: p.Contain().Level == paddock.Full}
}

// said are the secrets of p that programs say, for which p itself has the rooms.
func said(p *policy.Policy) []string {
	var names []string
	w := wanted(p, "")
	for _, s := range w.Secrets {
		if s.Provider != nil {
			names = append(names, s.Secret)
		}
	}
	for _, s := range w.Given {
		if s.Provider != nil {
			names = append(names, s.Secret)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return p.For(paddock.SecretRoom+name) == nil })
}

// provider looks at the program that says a secret. It isn't asked.
func provider(ctx context.Context, finder *facts.Finder, p *policy.Policy, secret string) (diagnosis.Fact, error) {
	paths := p.Executables()
	if len(paths) == 0 || wanted(p, paths[0]).Executable == "" {
		return diagnosis.Fact{
			Name: "secret", Text: secret + ": what narrows the policy doesn't permit the program that says it",
			Remedy: "Runs of this policy are refused. List the program there, or have a file hold the secret.",
		}, nil
	}
	w := wanted(p, paths[0])
	f, err := pin(ctx, finder, w, query(p, w))
	f.Name, f.Text = "secret", secret+": "+f.Text
	return f, err
}

// pin looks at a pinned program as a run of it would.
func pin(ctx context.Context, finder *facts.Finder, w policy.Wanted, q facts.Query) (diagnosis.Fact, error) {
	f := diagnosis.Fact{Name: "pin", Text: w.Executable}
	found := finder.Find(ctx, q)
	defer found.Close()
	switch e := found.Executable; {
	case found.Fault != nil:
		return f, found.Fault
	case !e.Found:
		f.Text, f.Remedy = f.Text+": it isn't there", "Correct its path in the policy, or install it."
	case e.Unsafe != "":
		f.Text, f.Remedy = f.Text+": "+e.Unsafe, "Mend what it says; docs/policy.md tells under `sha256` how pins are held."
	case !w.Pinned:
		f.Text += ": not pinned"
	case e.Digest != w.Pins[w.Executable]:
		f.Text, f.Remedy = f.Text+": it is another file now, "+e.Digest.Short(), "See what changed it, then: paddock policy pin"
	case len(found.Launch.Copies) > 0:
		f.Text += ": a sealed copy of the script is what runs"
	case found.Launch.Held:
		f.Text += ": held by a lease while it runs"
	default:
		f.Text += ": root alone can change it"
	}
	return f, nil
}
