package enter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client/enter"
)

// mostLine bounds what is typed at once: a password has 1024 bytes at most.
const mostLine = 4096

// invitation is how the codes of invitations begin, which make an account.
const invitation = "pdi_"

// proof asks for what lets somebody in. Nothing of it is ever a word of the command line.
func (d commands) proof(ctx context.Context) (p enter.Proof, err error) {
	p.Name, err = d.line(ctx, "Name (empty to log in by a code): ", false)
	if err != nil {
		return p, err
	}
	if p.Name != "" {
		p.Password, err = d.line(ctx, "Password: ", true)
		return p, err
	}
	p.Code, err = d.line(ctx, "Code: ", true)
	if err != nil || !strings.HasPrefix(p.Code, invitation) {
		return p, err
	}
	d.Say("note", "this is an invitation: it makes an account, with a name and a password of your choice")
	if p.Name, err = d.line(ctx, "Name to be: ", false); err != nil {
		return p, err
	}
	if p.Password, err = d.line(ctx, "Password to be: ", true); err != nil {
		return p, err
	}
	again, err := d.line(ctx, "The same again: ", true)
	if err == nil && again != p.Password {
		err = desk.Usage("the two passwords differ", "run the command again")
	}
	return p, err
}

// line asks for a line: at a terminal of a person, without showing what is secret, and
// else of standard input as it comes.
func (d commands) line(ctx context.Context, what string, secret bool) (string, error) {
	f, ok := d.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return checked(read(d.In))
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	back := func() { _ = term.Restore(int(f.Fd()), before) } // what else could be done?
	ends, usual := d.Signals()
	defer usual()
	fmt.Fprint(d.Err, what)
	type said struct {
		text string
		err  error
	}
	got := make(chan said, 1)
	go func() { // it is left behind where somebody ends us, and we end
		if !secret {
			text, err := read(f)
			got <- said{text, err}
			return
		}
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(d.Err)
		got <- said{string(text), err}
	}()
	select {
	case s := <-got:
		return checked(s.text, s.err)
	case <-ends:
	case <-ctx.Done():
	}
	back()
	fmt.Fprintln(d.Err)
	return "", desk.Usage("nobody logged in", "")
}

// read reads up to the end of a line, and no further.
func read(in io.Reader) (string, error) {
	var text []byte
	for one := make([]byte, 1); len(text) <= mostLine; {
		n, err := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSuffix(string(text), "\r"), nil
		case n == 1:
			text = append(text, one[0])
		case errors.Is(err, io.EOF) && len(text) > 0:
			return string(text), nil
		case err != nil:
			return "", err
		}
	}
	return string(text), nil
}

// checked refuses what can be nobody's name, password or code.
func checked(text string, err error) (string, error) {
	switch {
	case errors.Is(err, io.EOF):
		return "", desk.Usage("standard input ended before everything was said", "type a name and a password, or an empty line and a code")
	case err != nil:
		return "", err
	case len(text) > mostLine:
		return "", desk.Usage(fmt.Sprintf("the line has more than %d bytes", mostLine), "")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", desk.Usage("the line isn't text", "")
	}
	return text, nil
}
