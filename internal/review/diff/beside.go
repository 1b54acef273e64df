package diff

import (
	"cmp"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/review/diff/measure"
)

// writing compares where what programs write goes, and what they may execute.
func (d *differ) writing() {
	o, n, where := d.old.file.Contain, d.new.file.Contain, d.new.section("containment")
	switch {
	case o.Workspace == n.Workspace:
	case n.Workspace == paddock.OverlayWorkspace:
		d.add(Narrowed, "containment.workspace", where, "What programs write in a root is kept apart, before it was there at once.")
	default:
		d.add(Widened, "containment.workspace", where, "What programs write in a root is there at once, before it was kept apart.")
	}
	if o.Workspace == n.Workspace {
		d.deeper(cmp.Or(o.Deeper, paddock.QuarantineDeeper), cmp.Or(n.Deeper, paddock.QuarantineDeeper), where)
	}
	switch {
	case o.Exec == n.Exec && n.Exec == "":
	case o.Exec == "":
		d.add(Narrowed, "containment.exec", where, "Programs may execute only what is listed.")
	case n.Exec == "":
		d.add(Widened, "containment.exec", where, "Programs may execute anything that they see, before only what was listed.")
	default:
		d.places("containment.exec_also", "Programs may execute", texts(d.old.source.Containment.ExecAlso), texts(d.new.source.Containment.ExecAlso), where)
	}
}

// deeper compares what becomes of protected places that programs made.
func (d *differ) deeper(o, n string, where paddock.Position) {
	order := []string{paddock.IgnoreDeeper, paddock.ReportDeeper, paddock.QuarantineDeeper}
	says := []string{"nobody looks for them.", "they are told, and stay there.", "they are moved out of it."}
	switch was, is := slices.Index(order, o), slices.Index(order, n); {
	case is > was:
		d.add(Narrowed, "containment.deeper", where, "Protected places that programs made in a root: %s", says[is])
	case is < was:
		d.add(Widened, "containment.deeper", where, "Protected places that programs made in a root: %s", says[is])
	}
}

func texts(list []document.Text) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Value)
	}
	return out
}

// secrets compares which requests carry what.
func (d *differ) secrets() {
	find := func(list []paddock.Injection, name string) *paddock.Injection {
		for i := range list {
			if list[i].Secret == name {
				return &list[i]
			}
		}
		return nil
	}
	where := d.new.section("secrets")
	for _, n := range d.new.file.Secrets {
		at := "secrets." + n.Secret
		switch o := find(d.old.file.Secrets, n.Secret); {
		case o == nil:
			d.add(Widened, at, where, "Requests to %s carry %s.", n.Place, n.Secret)
		case o.Place != n.Place:
			d.add(Widened, at, where, "Requests to %s carry %s, before those to %s.", n.Place, n.Secret, o.Place)
		case !measure.SameInjection(*o, n):
			d.add(Unclear, at, where, "It comes from another file or program, goes in another header, or its host is verified otherwise.")
		}
	}
	measure.Secrets(d.old.file, d.new.file, func(effect, name, text string) { d.add(Effect(effect), "secrets."+name, where, "%s", text) })
	if d.old.file.Redact != d.new.file.Redact {
		d.add(Unclear, "redact", d.new.section("redact"), "Secrets are hidden at another time: when output is shown, or before it is stored.")
	}
	for _, o := range d.old.file.Secrets {
		if find(d.new.file.Secrets, o.Secret) == nil {
			d.add(Narrowed, "secrets."+o.Secret, where, "Requests to %s don't carry it any more.", o.Place)
		}
	}
}

// git compares what the git tools may read.
func (d *differ) git() {
	o, n, where := d.old.file.Git, d.new.file.Git, d.new.section("git")
	switch {
	case o == nil && n == nil:
	case o == nil:
		d.add(Widened, "git", where, "The git tools are there, by %s.", n.Executables[0].Path)
	case n == nil:
		d.add(Narrowed, "git", where, "The git tools aren't there any more.")
	default:
		if o.Executables[0].Path != n.Executables[0].Path {
			d.add(Widened, "git.executable", where, "The git tools use another program: %s, before it was %s.", n.Executables[0].Path, o.Executables[0].Path)
		}
		if o.Executables[0].Pin != n.Executables[0].Pin {
			d.add(Unclear, "git.sha256", where, "The git tools use another content, or it isn't pinned in the same way.")
		}
		d.places("git.roots", "The git tools may read", o.Roots, n.Roots, where)
		d.places("git.repositories", "For a root below it, the git tools may read", o.Contain.Read, n.Contain.Read, where)
	}
}

// kept compares how long things are kept, and who can approve what is asked about.
func (d *differ) kept() {
	if o, n := d.old.file.Reserve, d.new.file.Reserve; o != n {
		effect := Unclear // how large the disk is isn't known
		if o > 0 && n > o || n >= 1<<30 {
			effect = Narrowed
		} else if n > 0 && o > n {
			effect = Widened
		}
		d.add(effect, "limits.reserve", d.new.section("limits"), "%s of the state directory's disk stay free, before %s.", reserve(n), reserve(o))
	}
	d.quotas()
	if d.old.file.Retention != d.new.file.Retention {
		d.add(Changed, "retention", d.new.section("retention"), "Output or records are kept for another time, up to another size or in another form.")
	}
	if more, less := measure.Approvals(d.old.file.Approvals, d.new.file.Approvals); more {
		d.add(Widened, "approvals", d.new.section("approvals"), "Others can approve what rules ask about, fewer must, or it starts more, or for longer.")
	} else if less {
		d.add(Narrowed, "approvals", d.new.section("approvals"), "Fewer can approve what rules ask about, more must, or it starts less, or for a shorter time.")
	}
}

// sometimes compares the parts that hold for some requests only, by how they read.
func (d *differ) sometimes() {
	o, n := measure.Parts(d.old.file.Narrow), measure.Parts(d.new.file.Narrow)
	for _, one := range o {
		if !slices.ContainsFunc(n, one.Same) {
			d.add(Unclear, one.At, one.Where, "What held for some requests only is gone or says something else; what only it refused is allowed now, and what that is can't be told.")
		}
	}
	for _, one := range n {
		if !slices.ContainsFunc(o, one.Same) {
			d.add(Narrowed, one.At, one.Where, "A part is new that holds for some requests; it refuses more and allows nothing.")
		}
	}
}

func reserve(n int64) string {
	if n == 0 {
		return "1 GiB or a twentieth"
	}
	return fmt.Sprintf("%d bytes", n)
}
