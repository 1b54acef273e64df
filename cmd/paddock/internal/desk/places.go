package desk

import (
	"path/filepath"

	"paddock"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/policy"
)

// SystemPolicy is the policy of the whole machine.
const SystemPolicy = "/etc/paddock/policy.yaml"

// StateDir is where runs are kept, unless a flag or the environment says else.
// It is empty when there is no home to put it in.
func (d *Desk) StateDir(flag string) string {
	switch {
	case flag != "":
		return d.Absolute(flag)
	case d.Getenv("PADDOCK_STATE") != "":
		return d.Absolute(d.Getenv("PADDOCK_STATE"))
	}
	return d.base("XDG_STATE_HOME", ".local/state")
}

// PolicyPlaces are where a policy may come from.
func (d *Desk) PolicyPlaces(flag string) lookup.Places {
	return lookup.Places{
		Flag: flag, Environment: d.Getenv("PADDOCK_POLICY"),
		Config: d.base("XDG_CONFIG_HOME", ".config"), Dir: d.Dir, System: SystemPolicy,
		Lineage: d.Lineage,
	}
}

// PolicyHere is the policy that applies.
func (d *Desk) PolicyHere() (*policy.Policy, error) {
	return (&lookup.Source{Places: d.PolicyPlaces(d.Policy)}).Load()
}

// base is our directory below one of the XDG base directories. The
// specification says that a relative one is to be ignored.
func (d *Desk) base(variable, usual string) string {
	if dir := d.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "paddock")
	}
	if home := d.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, usual, "paddock")
	}
	return ""
}

// Here is the working directory, for what can't do without.
func (d *Desk) Here() (string, error) {
	if d.Dir != "" {
		return d.Dir, nil
	}
	r := paddock.Refused(paddock.CwdMissing, "The working directory doesn't exist any more, or can't be looked at.")
	r.Hint = "Change to one that does."
	return "", r
}

// Absolute makes a path that was given relative to the working directory
// independent of it.
func (d *Desk) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Dir, path)
}
