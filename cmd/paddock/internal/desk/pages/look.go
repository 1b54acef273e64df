package pages

import (
	"io"

	"github.com/spf13/pflag"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/clean"
)

// look is how output is to be shown.
type look struct{ clean, color, raw bool }

func (l *look) flags(f *pflag.FlagSet) {
	f.BoolVar(&l.clean, "clean", false, "show text only: no control sequences, hidden characters spelled, progress bars as they were left")
	f.BoolVar(&l.color, "color", false, "like --clean, with colours: what a terminal gets unless you say otherwise")
	f.BoolVar(&l.raw, "raw", false, "write bytes as they are, also to a terminal; in JSON, base64 where they aren't UTF-8")
}

// view is what was asked for by name.
func (l *look) view() (paddock.View, error) {
	switch {
	case l.clean && l.color, l.raw && (l.clean || l.color):
		return "", desk.Usage("--clean, --color and --raw don't go together", "leave out all but one")
	case l.clean:
		return paddock.ViewClean, nil
	case l.color:
		return paddock.ViewColor, nil
	}
	return "", nil
}

// A shower is where output goes to be seen. What it holds back is shown by Flush.
type shower interface {
	io.Writer
	Flush() error
}

// asIs shows bytes as they are.
type asIs struct{ io.Writer }

func (asIs) Flush() error { return nil }

// mode is how pages that answer req are cleaned here, if they are: not what the
// verbs have cleaned already, nor what goes to no terminal and wasn't asked to be.
func (l *look) mode(d commands, req paddock.PageRequest) (mode clean.Mode, cleaned bool) {
	switch {
	case req.View != "", l.raw, !l.clean && !l.color && !d.Terminal:
		return 0, false
	case l.clean:
		return clean.Text, true
	}
	return clean.Color, true
}

// writer returns where pages that answer req are written. On a terminal a
// program that writes right now may go back in its line.
func (l *look) writer(d commands, req paddock.PageRequest, live bool) shower {
	mode, cleaned := l.mode(d, req)
	if !cleaned {
		return asIs{d.Out}
	}
	if live && !l.clean && !l.color {
		mode = clean.Live
	}
	return clean.New(d.Out, mode)
}

// line returns what becomes of each line that is printed by itself.
func (l *look) line(d commands, req paddock.PageRequest) func([]byte) []byte {
	mode, cleaned := l.mode(d, req)
	if !cleaned {
		return func(p []byte) []byte { return p }
	}
	return func(p []byte) []byte { return clean.Bytes(p, mode) }
}
