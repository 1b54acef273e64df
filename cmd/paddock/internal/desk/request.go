package desk

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// Flags is what can be said about a run on the command line.
type Flags struct {
	Detach      bool
	Raw         bool
	label       string
	dir         string
	workspace   string
	timeout     string
	idle        string
	outputLimit string
	diskLimit   string
	stdinText   string
	stdinFile   string
	stdinRun    string
	env         []string
	Key         string
}

// RequestFlags are those that run and policy explain share.
func (d *Desk) RequestFlags(cmd *cobra.Command, f *Flags) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // the first word that isn't a flag begins argv
	flags.StringVar(&f.label, "label", "", "`TEXT` for people, in place of the command's words")
	flags.StringVar(&f.dir, "dir", "", "work in `DIR` (default the current one)")
	flags.StringVar(&f.workspace, "workspace", "", "take `DIR` inside a root for the only root there is, and work there; a server's workspace goes by its name")
	flags.StringVar(&f.timeout, "timeout", "", "end the run after `TIME`, as 90s or 1d12h; can only lower the policy's")
	flags.StringVar(&f.idle, "idle", "", "end the run when it prints nothing for `TIME`; can only lower the policy's")
	flags.StringVar(&f.outputLimit, "output-limit", "", "keep at most `SIZE` of each stream, as 10MiB; can only lower the policy's")
	flags.StringVar(&f.diskLimit, "disk-limit", "", "end the run when it has written `SIZE` to disks, as 500MiB; can only lower the policy's")
	flags.StringVar(&f.stdinText, "stdin-text", "", "`TEXT` that the program reads on standard input")
	flags.StringVar(&f.stdinFile, "stdin-file", "", "`FILE` inside a root to read on standard input")
	flags.StringVar(&f.stdinRun, "stdin-run", "", "settled `RUN` whose output to read on standard input; RUN:stderr for its standard error")
	flags.StringArrayVar(&f.env, "env", nil, "`NAME=value` for the program, where the policy accepts the name; repeatable")
}

// limits asks for less than the policy gives, as the flags say.
func (f Flags) limits(cmd *cobra.Command, command *paddock.Command) error {
	if cmd.Flags().Changed("timeout") {
		// As the policy writes them, or its longest couldn't be asked for.
		timeout, err := unit.ParseDuration(f.timeout)
		if err != nil {
			return Usage("--timeout "+screen.Quote(f.timeout)+": "+err.Error(), "as in --timeout 90s or --timeout 1h")
		}
		command.Timeout = paddock.Duration(timeout)
	}
	if cmd.Flags().Changed("idle") {
		idle, err := unit.ParseDuration(f.idle)
		if err != nil {
			return Usage("--idle "+screen.Quote(f.idle)+": "+err.Error(), "as in --idle 90s or --idle 5m")
		}
		command.Idle = paddock.Duration(idle)
	}
	if cmd.Flags().Changed("output-limit") {
		n, err := parseSize(f.outputLimit)
		if err != nil {
			return Usage("--output-limit: "+err.Error(), "as in --output-limit 512KiB or --output-limit 10MiB")
		}
		command.OutputLimit = n
	}
	if cmd.Flags().Changed("disk-limit") {
		n, err := parseSize(f.diskLimit)
		if err != nil {
			return Usage("--disk-limit: "+err.Error(), "as in --disk-limit 500MiB or --disk-limit 2GiB")
		}
		command.DiskLimit = n
	}
	return nil
}

// Request makes the request that flags and words stand for. Whether it may be
// is not asked here.
func (d *Desk) Request(cmd *cobra.Command, f Flags, argv []string) (paddock.Request, error) {
	command := paddock.Command{Argv: argv, Dir: f.dir, Label: f.label}
	if !filepath.IsAbs(f.dir) && d.ServerURL() == "" { // a server has directories of its own
		here, err := d.Here()
		if err != nil {
			return paddock.Request{}, err
		}
		command.Dir = filepath.Join(here, f.dir)
	}
	if err := d.confine(cmd, f, &command); err != nil {
		return paddock.Request{}, err
	}
	if err := f.limits(cmd, &command); err != nil {
		return paddock.Request{}, err
	}
	if err := OneOf(cmd, "stdin-text", "stdin-file", "stdin-run"); err != nil {
		return paddock.Request{}, err
	}
	var err error
	if command.Env, err = parseEnv(f.env); err != nil {
		return paddock.Request{}, err
	}
	switch {
	case cmd.Flags().Changed("stdin-text"):
		command.Stdin.Text = &f.stdinText
	case f.stdinFile != "":
		command.Stdin.File = f.stdinFile
		if d.ServerURL() == "" {
			command.Stdin.File = d.Absolute(f.stdinFile)
		}
	case f.stdinRun != "":
		word, stream, _ := strings.Cut(f.stdinRun, ":")
		if command.Stdin.Run, err = RunID(word); err != nil {
			return paddock.Request{}, err
		}
		if command.Stdin.Stream, err = ParseStream(stream, paddock.Stdout, paddock.Stdout, paddock.Stderr); err != nil {
			return paddock.Request{}, err
		}
	}
	return paddock.Request{
		Principal: d.Operator(), Door: paddock.DoorCLI, Command: command,
		Tied: !f.Detach, IdempotencyKey: f.Key,
	}, nil
}

// confine has a command see nothing of its root but a directory, in which it works where
// no other inside is named.
func (d *Desk) confine(cmd *cobra.Command, f Flags, command *paddock.Command) error {
	if !cmd.Flags().Changed("workspace") {
		return nil
	}
	if f.workspace == "" {
		return Usage("--workspace is empty", "as in --workspace services/api, or --workspace NAME with --server")
	}
	command.Workspace = f.workspace
	if d.ServerURL() == "" {
		command.Workspace = filepath.Clean(d.Absolute(f.workspace))
		if f.dir == "" {
			command.Dir = command.Workspace
		}
	}
	return nil
}

func parseEnv(words []string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	env := make(map[string]string, len(words))
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, Usage("--env "+screen.Quote(word)+" isn't NAME=value", "nothing is taken over from this environment: give the value too")
		}
		if _, twice := env[name]; twice {
			return nil, Usage("--env gives "+screen.Quote(name)+" twice", "leave one of them out")
		}
		env[name] = value
	}
	return env, nil
}

// ParseStream accepts one of some; the empty word means usual.
func ParseStream(word string, usual paddock.Stream, some ...paddock.Stream) (paddock.Stream, error) {
	if word == "" {
		return usual, nil
	}
	names := make([]string, len(some))
	for i, s := range some {
		if word == string(s) {
			return s, nil
		}
		names[i] = string(s)
	}
	return "", Usage("there is no stream "+screen.Quote(word)+" here", "the streams are "+strings.Join(names, ", "))
}

// parseSize reads a number of bytes with an optional binary unit.
func parseSize(word string) (int64, error) {
	digits := strings.TrimRight(word, "KMGTiB")
	factor, ok := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[word[len(digits):]]
	var n int64
	for _, d := range digits {
		if d < '0' || d > '9' || n > (1<<62)/10 {
			ok = false
			break
		}
		n = n*10 + int64(d-'0')
	}
	if !ok || digits == "" || n <= 0 || n > (1<<62)/factor {
		return 0, fmt.Errorf("%s isn't a size: want a whole number with B, KiB, MiB, GiB, TiB or no unit", screen.Quote(word))
	}
	return n * factor, nil
}

// WaitBound refuses a --wait that can't bound our waiting.
func WaitBound(name string, d time.Duration, given bool) error {
	if given && d < 0 {
		return Usage("--"+name+" must not be negative", "as in --"+name+" 30s")
	}
	return nil
}
