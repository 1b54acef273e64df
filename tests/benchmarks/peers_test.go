//go:build linux

package benchmarks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// systemDirs are what every peer gets to see of the machine, read-only, as a run
// at full does.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"}

// A peer is somebody else's way to run true in the workspace.
type peer struct {
	what    string
	command []string
	version []string
	env     []string
}

// peers returns those that can be run here. Of the others it notes why they
// can't: a missing row is no failure.
func peers(t *testing.T, s *sheet, root string) []contender {
	all := []contender{{bare, "", func() time.Duration {
		return took(func() { must(t, testproc.Command(t, "/bin/true").Run()) })
	}}}
	dir := t.TempDir()
	for _, make := range []func(t *testing.T, dir, root string) (peer, error){bubblewrap, runcBundle, sandboxRuntime} {
		p, err := make(t, dir, root)
		if !s.wants(p.what, "") {
			continue
		}
		if err == nil {
			_, err = p.run(t, root, p.command)
		}
		if err != nil {
			s.Missing[p.what] = strings.Join(strings.Fields(err.Error()), " ")
			continue
		}
		if out, err := p.run(t, root, p.version); err == nil {
			line, _, _ := strings.Cut(out, "\n")
			s.Peers[p.what] = strings.TrimSpace(line)
		}
		all = append(all, contender{p.what, "", func() time.Duration {
			return took(func() {
				if _, err := p.run(t, root, p.command); err != nil {
					t.Fatal(err)
				}
			})
		}})
	}
	return all
}

// run waits for the command and says what it printed, in its error too.
func (p peer) run(t *testing.T, dir string, argv []string) (string, error) {
	cmd := testproc.Command(t, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %.300s", filepath.Base(argv[0]), err, out)
	}
	return string(out), nil
}

// bubblewrap is asked for what a run at full has: all namespaces, the system's
// directories read-only, one writable root, a /dev, /proc and /tmp of its own, no
// capability and a clean environment. It has no equal to our filter of system
// calls, to Landlock and to limits.
func bubblewrap(_ *testing.T, _, root string) (peer, error) {
	argv := []string{"bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"}
	for _, dir := range systemDirs {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(dir)
			if err != nil {
				return peer{what: bwrap}, err
			}
			argv = append(argv, "--symlink", to, dir)
		} else if err == nil {
			argv = append(argv, "--ro-bind", dir, dir)
		}
	}
	argv = append(argv, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--bind", root, root, "--chdir", root, "--", "/bin/true")
	return peer{what: bwrap, command: argv, version: []string{"bwrap", "--version"}, env: os.Environ()}, nil
}

// runcBundle is what `runc spec` proposes, with the program, its directories and
// the workspace put in.
func runcBundle(t *testing.T, dir, root string) (peer, error) {
	p := peer{what: runc, env: os.Environ(), version: []string{"runc", "--version"}}
	bundle := filepath.Join(dir, "bundle")
	must(t, os.MkdirAll(filepath.Join(bundle, "rootfs"), 0o755))
	spec := []string{"runc", "spec"}
	if os.Geteuid() != 0 {
		spec = append(spec, "--rootless")
	}
	if _, err := p.run(t, bundle, spec); err != nil {
		return p, err
	}
	name := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(name)
	must(t, err)
	var config struct {
		Process map[string]any   `json:"process"`
		Mounts  []map[string]any `json:"mounts"`
	}
	var whole map[string]any
	must(t, json.Unmarshal(text, &config))
	must(t, json.Unmarshal(text, &whole))
	config.Process["terminal"], config.Process["args"], config.Process["cwd"] = false, []string{"/bin/true"}, root
	bind := func(dir string, options ...string) {
		config.Mounts = append(config.Mounts, map[string]any{"destination": dir, "type": "bind", "source": dir, "options": append(options, "rbind", "nosuid", "nodev")})
	}
	for _, dir := range systemDirs {
		if _, err := os.Stat(dir); err == nil {
			bind(dir, "ro")
		}
	}
	bind(root, "rw")
	whole["process"], whole["mounts"] = config.Process, config.Mounts
	text, err = json.Marshal(whole)
	must(t, err)
	must(t, os.WriteFile(name, text, 0o600))
	// Each sample is over before the next begins, so one name will do.
	p.command = []string{"runc", "--root", filepath.Join(dir, "containers"), "run", "--bundle", bundle, fmt.Sprint("paddock-bench-", os.Getpid())}
	return p, nil
}

// sandboxRuntime is the command of @anthropic-ai/sandbox-runtime, with no
// network and one writable directory.
func sandboxRuntime(t *testing.T, dir, root string) (peer, error) {
	p := peer{what: sandbox, env: append(os.Environ(), "HOME="+dir)}
	command := *srt
	if command == "" {
		command = "srt"
	}
	settings := filepath.Join(dir, "srt.json")
	text, err := json.Marshal(map[string]any{
		"network":    map[string]any{"allowedDomains": []string{}, "deniedDomains": []string{}},
		"filesystem": map[string]any{"denyRead": []string{}, "allowWrite": []string{root}, "denyWrite": []string{}},
	})
	must(t, err)
	must(t, os.WriteFile(settings, text, 0o600))
	p.command = []string{command, "--settings", settings, "/bin/true"}
	p.version = []string{command, "--version"}
	if path, err := filepath.EvalSymlinks(command); err == nil { // the command doesn't know; its package does
		for ; path != "/"; path = filepath.Dir(path) {
			b, err := os.ReadFile(filepath.Join(path, "package.json"))
			if m := regexp.MustCompile(`"version": *"([^"]+)"`).FindSubmatch(b); err == nil && m != nil {
				p.version = []string{"/bin/echo", "sandbox-runtime", string(m[1])}
				break
			}
		}
	}
	return p, nil
}
