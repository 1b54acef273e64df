package doctor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis/scene"
	"paddock/internal/git/parse"
)

// git asks the policy's git for its version, by the way that every run takes.
func (d commands) git(ctx context.Context, path string, as paddock.ContainAs) (f diagnosis.Fact, err error) {
	f = diagnosis.Fact{Name: "git", Text: path}
	s, err := scene.Build(ctx, scene.Base(d.StateDir(d.State), as.Level), as.Level)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	run, out, err := d.run(ctx, s, s.Policy("git", path, "--version", s.At("shown"), ""), []string{"git", "--version"})
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		f.Text, f.Remedy = f.Text+": "+refusal.Message, refusal.Hint
		return f, nil
	}
	if err != nil {
		return f, err
	}
	said := ""
	if run.State == paddock.Exited {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return f, err
		}
		said = desk.Plain(strings.TrimSpace(line))
	}
	switch old, ok := parse.Supported(said); {
	case !ok:
		f.Text, f.Remedy = f.Text+": it doesn't tell its version: "+cmp.Or(said, desk.Describe(run)), "Name another git under `git`."
	case old:
		f.Text, f.Remedy = f.Text+": "+said+", too old for the git tools", "Install git "+parse.Oldest+" or newer."
	default:
		f.Text += ": " + said
	}
	return f, nil
}
