package propose

import (
	"path"
	"slices"
	"strings"

	"paddock"
)

// level is the strongest containment that this machine can give.
func (p Project) level() paddock.Level {
	for _, l := range []paddock.Level{paddock.Full, paddock.Standard} {
		if slices.Contains(p.Levels, l) {
			return l
		}
	}
	return paddock.Off
}

// read makes a directory of this machine visible to every program.
func (w *writer) read(dir, why string) {
	if !writable(dir) || dir == "/" || below(w.project.Root, dir) {
		return
	}
	if slices.ContainsFunc(w.reads, func(r [2]string) bool { return below(r[0], dir) }) {
		return
	}
	w.reads = append(slices.DeleteFunc(w.reads, func(r [2]string) bool { return below(dir, r[0]) }), [2]string{dir, why})
}

// writable reports whether p is a path that a policy can hold.
func writable(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsFunc(p, isControl)
}

// below reports whether p is dir or lies below it.
func below(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// containment writes what holds the programs: the most that can be given here.
func (w *writer) containment() {
	switch w.project.level() {
	case paddock.Full:
		w.line("containment:                            # what can't be given here is refused, never less in silence")
		w.line("  require: full                         # programs see the system's directories, the root, and a HOME and /tmp of their own")
	case paddock.Standard:
		w.because(paddock.Full)
		w.line("# `standard` keeps programs from reading and writing elsewhere. It can't hide what there")
		w.line("# is, keep hooks and settings in the root as they are, or give them a /tmp of their own.")
		w.line("containment:")
		w.line("  require: standard")
		w.account()
	default:
		w.because(paddock.Full)
		w.because(paddock.Standard)
		w.line("# So programs can't be contained here. `off` says that you know it: what is allowed")
		w.line("# above runs with your rights, and the code that it builds or tests can read and change")
		w.line("# whatever you can, use the network included. Without this line every command is")
		w.line("# refused, because less containment is never given in silence.")
		w.line("containment: {require: off}")
		return
	}
	w.line("  network: none                         # `host` gives them the machine's")
	if len(w.reads) == 0 {
		w.line("  # read: [/path]                       # what else programs need to see of this machine")
		w.line("  # write: [/path]                      # and to write, beside the root")
		return
	}
	w.line("  read:                                 # beside the system's own directories; never what holds credentials")
	for _, r := range w.reads {
		w.line("    - %-34s  # %s", text(r[0]), r[1])
	}
}

// account says whose runs are where Paddock is root, who can't have any of its own.
func (w *writer) account() {
	switch {
	case w.project.RunAs == "":
	case w.project.Owns:
		w.line("  run_as: %-30s  # to whom the root belongs: Paddock is root here, and what it runs isn't", text(w.project.RunAs))
	default:
		w.line("  # Paddock is root here, and what it runs isn't. The root belongs to root, where this user")
		w.line("  # may only read: give it to an ordinary user (chown -R), and name that one here.")
		w.line("  run_as: %s", text(w.project.RunAs))
	}
}

// because says why a level isn't proposed.
func (w *writer) because(level paddock.Level) {
	// Some characters end a comment, or can't stand in YAML.
	why := strings.Map(func(c rune) rune {
		if c < 0x20 || c > 0x7e {
			return ' '
		}
		return c
	}, w.project.Missing[level])
	if strings.TrimSpace(why) == "" {
		why = "nobody knows what this machine can do"
	}
	line := "# `" + string(level) + "` can't be had:"
	for word := range strings.FieldsSeq(why) {
		if len(line)+1+len(word) > 90 {
			w.line("%s", line)
			line = "#  "
		}
		line += " " + word
	}
	w.line("%s", line)
}

// offline reports whether programs are to have no network.
func (w *writer) offline() bool { return w.project.level() != paddock.Off }

// goEnvironment is for the go command and for whoever starts it.
func (w *writer) goEnvironment() {
	w.builds = true
	w.line("    environment:")
	w.line("      set:")
	w.line("        GOFLAGS: -mod=readonly          # go.mod changes only on purpose")
	if c := w.project.GoModCache; writable(c) && c != "/" {
		w.line("        GOMODCACHE: %s", text(c))
		w.read(c, "Go modules; GOMODCACHE above")
	}
	if !w.offline() {
		w.line("      pass: [GOPROXY, GOTOOLCHAIN]")
		return
	}
	w.line("        GOPROXY: \"off\"                  # there is no network: when go.mod changes, run `go mod download` yourself")
	w.line("      pass: [GOTOOLCHAIN]")
}

// cargoEnvironment tells cargo where its crates are, since HOME is another.
func (w *writer) cargoEnvironment() {
	var set []string
	if dir := w.project.CargoHome; writable(dir) && dir != "/" {
		set = append(set, "        CARGO_HOME: "+text(dir))
	}
	if w.offline() {
		set = append(set, "        CARGO_NET_OFFLINE: \"true\"       # there is no network: when Cargo.lock changes, run `cargo fetch` yourself")
	}
	if len(set) == 0 {
		return
	}
	w.line("    environment:")
	w.line("      set:")
	for _, line := range set {
		w.line("%s", line)
	}
}
