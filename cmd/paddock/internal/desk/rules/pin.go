package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/pin"
)

// A pinReport is what policy pin found and did.
type pinReport struct {
	File    string   `json:"file"`
	Changes []change `json:"changes"`
	// Written is set when the file was changed.
	Written bool `json:"written"`
}

// A change is a digest that the policy has and the one that the file has.
type change struct {
	Name string         `json:"name,omitempty"`
	Path string         `json:"path"`
	Old  paddock.Digest `json:"old,omitempty"`
	New  paddock.Digest `json:"new"`
}

type pinFlags struct {
	file        string
	dry, verify bool
}

func (d commands) pinCommand() *cobra.Command {
	var f pinFlags
	cmd := &cobra.Command{
		Use:   "pin [flags] [NAME…]",
		Short: "Write the digests of programs into the policy",
		Long: `Hash the executables that a policy names, its git, the programs of its delegates and those
that say its secrets, all or those of some names or paths, and put their digests into it as
sha256. Interpreters that a script leads to are pinned
too where the policy names them. Comments and layout stay as they are. From then on
another content is refused with executable_changed, until it is pinned anew.

With --check nothing is written, and the exit status is 1 where something isn't what
it is pinned to; without names that asks for what is pinned.`,
		Example:           "  paddock policy pin\n  paddock policy pin --dry-run go\n  paddock policy pin --check",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := desk.OneOf(cmd, "dry-run", "check"); err != nil {
				return err
			}
			return d.pin(cmd.Context(), f, names)
		},
	}
	cmd.Flags().StringVar(&f.file, "file", "", "the policy; the one that applies here if absent")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change and write nothing")
	cmd.Flags().BoolVar(&f.verify, "check", false, "write nothing; the exit status says whether all is as pinned")
	return cmd
}

func (d commands) pin(ctx context.Context, f pinFlags, names []string) error {
	var named []string
	if f.file != "" {
		named = []string{f.file}
	}
	path, data, err := d.policyFile(named)
	if err != nil {
		return err
	}
	path = lookup.RealPath(path)
	compiled, err := policy.Load(path, data, d.Lineage.More(path, data)...)
	if err != nil {
		return desk.Usage(err.Error(), "nothing was pinned; paddock policy check "+desk.Quote(path)+" lists every error")
	}
	file, _ := document.Read(path, data) // compiled, so it has no faults
	chosen, err := d.chosen(ctx, file, compiled, f, names)
	if err != nil {
		return err
	}
	r := pinReport{File: path, Changes: []change{}}
	pins := map[string]paddock.Digest{}
	for _, c := range chosen {
		if c.Old != c.New {
			r.Changes = append(r.Changes, c)
			pins[c.Path] = c.New
		}
	}
	if !f.verify && !f.dry && len(pins) > 0 {
		if err := rewrite(path, data, compiled, pins); err != nil {
			return err
		}
		r.Written = true
	}
	if err := d.showPins(r, f, len(chosen)); err != nil {
		return err
	}
	if f.verify && len(r.Changes) > 0 {
		return desk.ExitStatus(desk.ExitNo)
	}
	return nil
}

// chosen hashes what is to be pinned.
func (d commands) chosen(ctx context.Context, file document.File, compiled *policy.Policy, f pinFlags, names []string) ([]change, error) {
	search, entries := compiled.SearchPath(), pin.Entries(file)
	wanted := map[string]bool{}
	for _, name := range names {
		i := slices.IndexFunc(entries, func(e pin.Entry) bool { return name == e.Name.Value || name == e.Path.Value })
		if i < 0 {
			return nil, desk.Usage("the policy has no executable "+desk.Quote(name), "it has "+allowed(compiled))
		}
		wanted[entries[i].Path.Value] = true
	}
	if len(names) == 0 {
		for _, e := range entries {
			wanted[e.Path.Value] = !f.verify || e.SHA256.Given()
		}
	}
	digests := map[string]paddock.Digest{}
	for _, e := range entries {
		if !wanted[e.Path.Value] || digests[e.Path.Value] != "" {
			continue
		}
		digest, interpreters, err := d.Content(ctx, e.Path.Value, search)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s doesn't exist", e.Path.Value)
		}
		if err != nil {
			return nil, desk.Usage("line "+fmt.Sprint(e.Path.At.Line)+": "+desk.Plain(err.Error()), "nothing was pinned; name the others, or correct this one first")
		}
		digests[e.Path.Value] = digest
		for _, i := range interpreters {
			if slices.Contains(compiled.Executables(), i.Path) && digests[i.Path] == "" && filepath.Base(i.Path) != "env" {
				if digests[i.Path], _, err = d.Content(ctx, i.Path, search); err != nil {
					return nil, err
				}
			}
		}
	}
	var all []change
	for _, e := range entries {
		if digest := digests[e.Path.Value]; digest != "" {
			c := change{Name: e.Name.Value, Path: e.Path.Value, New: digest}
			if e.SHA256.Given() {
				c.Old = paddock.Digest("sha256:" + strings.ToLower(strings.TrimPrefix(e.SHA256.Value, "sha256:")))
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// rewrite puts the pins into the file, which must still be what was read, and lie
// where nothing that runs can write.
func rewrite(path string, data []byte, compiled *policy.Policy, pins map[string]paddock.Digest) error {
	for _, root := range compiled.Roots() {
		if lookup.Within(path, lookup.RealPath(root)) {
			return desk.Usage("the policy "+desk.Plain(path)+" lies inside its own root "+desk.Quote(root)+", where what runs could change it", "move it outside of every root; nothing was pinned")
		}
	}
	text, err := pin.Write(data, pins)
	if err != nil {
		return desk.Usage(desk.Plain(path)+": "+err.Error(), "")
	}
	return lookup.Rewrite(path, data, text)
}

func (d commands) showPins(r pinReport, f pinFlags, hashed int) error {
	if d.JSON {
		return d.Object(r)
	}
	for _, c := range r.Changes {
		old := string(c.Old)
		if old == "" {
			old = "not pinned"
		}
		if _, err := fmt.Fprintf(d.Out, "%s: %s -> %s\n", desk.Plain(c.Path), old, c.New); err != nil {
			return err
		}
	}
	say := fmt.Sprintf("%d of %d executables are now pinned in %s", len(r.Changes), hashed, desk.Plain(r.File))
	switch {
	case len(r.Changes) == 0:
		say = fmt.Sprintf("%d executables are what they are pinned to", hashed)
	case f.dry:
		say = "nothing was written"
	case f.verify:
		say = fmt.Sprintf("%d of %d executables aren't what they are pinned to", len(r.Changes), hashed)
	}
	d.Say("note", say)
	return nil
}
