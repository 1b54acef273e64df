package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk/screen/finds"
)

// enforced says what held a run, one line for each thing that the kernel was told.
func enforced(e *paddock.Enforced) [][2]string {
	if e == nil {
		return nil
	}
	if e.Level == paddock.Off {
		return append(append([][2]string{{"enforced", "nothing: containment was off"}}, identity(e)...), finds.Deeper(e.Deeper)...)
	}
	f := append([][2]string{{"enforced", string(e.Level) + ", " + privileges(e)}}, identity(e)...)
	if len(e.Namespaces) > 0 {
		f = append(f, [2]string{"namespaces", strings.Join(e.Namespaces, ", ")})
	}
	files := "the machine's"
	if e.Mounts != "" {
		files = "a " + e.Mounts + " view"
	}
	if e.LandlockABI > 0 {
		files += fmt.Sprintf(", Landlock ABI %d", e.LandlockABI)
	}
	f = append(f, [2]string{"files", files}, [2]string{"network", network(e)})
	if e.Filter != "" {
		f = append(f, [2]string{"calls", "filter " + e.Filter.Short()})
	}
	if e.Exec == paddock.ListedExec {
		f = append(f, [2]string{"execute", "only what the policy lists"})
	}
	if e.Workspace != "" {
		kept := "kept apart as " + map[string]string{"overlay": "an overlay", "copy": "a copy"}[e.Workspace]
		if e.WorkspaceWhy != "" {
			kept += ": " + Plain(e.WorkspaceWhy)
		}
		f = append(f, [2]string{"workspace", kept})
	}
	if len(e.Protected) > 0 {
		f = append(f, [2]string{"protected", QuoteAll(e.Protected)})
	}
	f = append(f, finds.Deeper(e.Deeper)...)
	for _, name := range slices.Sorted(maps.Keys(e.Limits)) {
		means := "held by " + Plain(e.Limits[name])
		switch e.Limits[name] {
		case "none":
			means = "not held"
		case "watched":
			means = "watched; past it the run is killed"
		}
		f = append(f, [2]string{Plain(name), means})
	}
	return f
}

// identity says whose the run was, and what that means for its record.
func identity(e *paddock.Enforced) (f [][2]string) {
	if e.Identity != nil {
		f = append(f, [2]string{"identity", Plain(e.Identity.String())})
	}
	switch e.Evidence {
	case "":
	case paddock.EvidenceProtected:
		f = append(f, [2]string{"evidence", "protected: the run couldn't change its record"})
	case paddock.EvidenceSameUID:
		f = append(f, [2]string{"evidence", "same-uid: the run's account owns its record"})
	default:
		f = append(f, [2]string{"evidence", Plain(string(e.Evidence))})
	}
	return f
}

func privileges(e *paddock.Enforced) string {
	if e.NoNewPrivileges {
		return "no new privileges"
	}
	return "privileges could be gained"
}

func network(e *paddock.Enforced) string {
	switch e.Network {
	case "none":
		return "none"
	case "host":
		return "the machine's"
	case "allowlist":
		return "listed hosts, through a proxy"
	}
	return Plain(e.Network)
}

// limits are those of the whole tree that a run was given; what enforces them
// stands with what the kernel was told.
func limits(l paddock.Limits) [][2]string {
	var f [][2]string
	if l.Idle > 0 {
		f = append(f, [2]string{"silence", "at most " + Span(time.Duration(l.Idle))})
	}
	if l.Memory > 0 {
		f = append(f, [2]string{"memory", "at most " + Size(l.Memory)})
	}
	if l.Processes > 0 {
		f = append(f, [2]string{"processes", fmt.Sprint("at most ", l.Processes)})
	}
	if l.CPUs > 0 {
		f = append(f, [2]string{"cpus", fmt.Sprint("at most ", l.CPUs)})
	}
	if l.Disk > 0 {
		f = append(f, [2]string{"disk", "at most " + Size(l.Disk) + " written"})
	}
	if l.FileSize > 0 {
		f = append(f, [2]string{"file size", "at most " + Size(l.FileSize)})
	}
	return f
}

// stock says whether output stays or is gone.
func stock(r paddock.Run) [][2]string {
	var f [][2]string
	if k := r.Kept; k != nil {
		f = append(f, [2]string{"kept", "by " + Plain(k.By) + " since " + k.At.Local().Format("2006-01-02 15:04:05")})
	}
	if p := r.Pruned; p != nil {
		f = append(f, [2]string{"pruned", fmt.Sprintf("%s of output removed %s (%s, by %s)", Size(p.Bytes), p.At.Local().Format("2006-01-02 15:04:05"), Plain(string(p.Reason)), Plain(p.By))})
	}
	return f
}

// later says what became known of the end after it was written down.
func later(all []paddock.Addendum) [][2]string {
	var f [][2]string
	for _, a := range all {
		text := Describe(paddock.Run{State: a.Outcome.State, Outcome: &a.Outcome})
		f = append(f, [2]string{"addendum", text + "; known since " + a.At.Local().Format("2006-01-02 15:04:05") + " (" + Plain(a.Note) + ")"})
	}
	return f
}

// deeds says what was done with a run's changes.
func deeds(all []paddock.Deed) [][2]string {
	words := map[paddock.DeedKind]string{
		paddock.DeedApplying: "began to apply", paddock.DeedApplied: "applied", paddock.DeedDiscarded: "discarded",
		paddock.DeedRestored: "restored from the quarantine",
	}
	var f [][2]string
	for i, d := range all {
		if d.Kind == paddock.DeedApplying && i+1 < len(all) && all[i+1].Kind == paddock.DeedApplied {
			continue
		}
		text := Plain(d.By) + " " + words[d.Kind]
		if n := len(d.Paths) + d.More; n > 0 {
			text += fmt.Sprintf(" %d paths", n)
		}
		if d.Kind == paddock.DeedApplying {
			text += " and was interrupted; `paddock apply` does the rest"
		}
		f = append(f, [2]string{"changes", text})
	}
	return f
}

// summary is what was kept of a stream and what wasn't.
func summary(s paddock.StreamSummary) string {
	if s.Unkept {
		return "nothing of it is kept: it says a secret"
	}
	text := strings.TrimSuffix(Size(s.Bytes)+", "+string(s.Digest), ", ")
	if s.Masked > 0 {
		text += fmt.Sprintf("; %s of secrets are hidden", Size(s.Masked))
	}
	if s.Dropped > 0 {
		text += fmt.Sprintf("; %s more were counted and not kept", Size(s.Dropped))
	}
	if s.Loss != nil {
		text += ": " + s.Loss.String()
	}
	return text
}
