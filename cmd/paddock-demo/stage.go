package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A stage is the place where the story happens: a scratch copy of the module and
// directories for everything that is written, all of which are removed.
type stage struct {
	paddock string // the binary
	dir     string // of all that is made
	project string // the scratch copy
	cache   string // of builds on this machine
	env     []string
}

func newStage(ctx context.Context) (_ *stage, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &stage{paddock: filepath.Join(filepath.Dir(self), "paddock")}
	if _, err := os.Stat(s.paddock); err != nil {
		return nil, fmt.Errorf("paddock isn't built: %w; use make demo", err)
	}
	if s.dir, err = os.MkdirTemp("", "paddock-demo-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.clear())
		}
	}()
	s.project = filepath.Join(s.dir, "project")
	module, err := output(ctx, "", nil, "go", "env", "GOMOD")
	if err != nil || filepath.Base(module) != "go.mod" {
		return nil, errors.Join(fmt.Errorf("run this in Paddock's sources, with make demo"), err)
	}
	if err := copyModule(filepath.Dir(module), s.project); err != nil {
		return nil, err
	}
	return s, s.environment(ctx, filepath.Dir(module))
}

// environment makes one in which Paddock finds this Go and nothing of the user's.
func (s *stage) environment(ctx context.Context, module string) error {
	env, err := output(ctx, module, nil, "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	values := strings.Split(env, "\n")
	if len(values) != 4 {
		return fmt.Errorf("go env answered %q", env)
	}
	s.cache = values[2]
	s.env = []string{
		"PATH=" + filepath.Join(values[0], "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + s.dir,
		"XDG_CONFIG_HOME=" + filepath.Join(s.dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(s.dir, "state"),
		"GOMODCACHE=" + values[1], "GOCACHE=" + values[2], "GOPROXY=" + values[3],
		"LANG=C.UTF-8",
	}
	return nil
}

// clear removes everything. Runs have ended by then; what they left behind in
// caches may be read-only.
func (s *stage) clear() error {
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(s.dir))
}

// run runs paddock in the project as the operator.
func (s *stage) run(ctx context.Context, args ...string) (string, error) {
	return output(ctx, s.project, s.env, s.paddock, args...)
}

func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, errs.Bytes())
	}
	return strings.TrimSpace(string(out)), err
}

// copyModule copies the sources: regular files, without what is built or hidden.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		hidden := name != "." && strings.HasPrefix(d.Name(), ".")
		switch {
		case d.IsDir() && (hidden || name == "bin" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case hidden || !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}
