package main

import (
	"path/filepath"

	"paddock/cmd/paddock/internal/lookup"
)

// systemPolicy is the policy of the whole machine.
const systemPolicy = "/etc/paddock/policy.yaml"

// stateDir is where runs are kept, unless a flag or the environment says else.
// It is empty when there is no home to put it in.
func (o *outside) stateDir(flag string) string {
	switch {
	case flag != "":
		return o.absolute(flag)
	case o.getenv("PADDOCK_STATE") != "":
		return o.absolute(o.getenv("PADDOCK_STATE"))
	}
	return o.base("XDG_STATE_HOME", ".local/state")
}

// policyPlaces are where a policy may come from.
func (o *outside) policyPlaces(flag string) lookup.Places {
	return lookup.Places{
		Flag: flag, Environment: o.getenv("PADDOCK_POLICY"),
		Config: o.base("XDG_CONFIG_HOME", ".config"), Dir: o.dir, System: systemPolicy,
	}
}

// base is our directory below one of the XDG base directories. The
// specification says that a relative one is to be ignored.
func (o *outside) base(variable, usual string) string {
	if dir := o.getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "paddock")
	}
	if home := o.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, usual, "paddock")
	}
	return ""
}
