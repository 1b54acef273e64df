package app

import (
	"path/filepath"
	"slices"

	"paddock"
)

// An agent, and a user, who may sit at another machine, may know where in the policy
// they were refused, but not where on the machine the policy is kept: that path lies
// outside every root. An operator and a host program are given it, to go there. A
// policy that is missing or can't be read is the exception, since all that others can
// do then is tell a person, and a person must know which file is meant.

func discreet(p paddock.Principal, d paddock.Decision) paddock.Decision {
	if p.Kind != paddock.Agent && p.Kind != paddock.User {
		return d
	}
	gates := slices.Collect(d.Gates.All())
	for i := range gates {
		gates[i].Position = discreetPosition(gates[i].Position)
		if gates[i].Gate == paddock.GatePolicy {
			gates[i].Detail = "" // names the files
		}
	}
	d.Gates = paddock.AnswersOf(gates...)
	d.Refusals = slices.Clone(d.Refusals)
	for i := range d.Refusals {
		d.Refusals[i] = *discreetRefusal(p, &d.Refusals[i])
	}
	if d.Grant() != nil {
		grant := *d.Grant()
		grant.Rule = discreetPosition(grant.Rule)
		d.Granted = paddock.Gives(&grant)
	}
	return d
}

func discreetRefusal(p paddock.Principal, r *paddock.Refusal) *paddock.Refusal {
	if p.Kind != paddock.Agent && p.Kind != paddock.User {
		return r
	}
	out := *r
	out.Position = discreetPosition(r.Position)
	out.Others = slices.Clone(r.Others)
	for i := range out.Others {
		out.Others[i] = *discreetRefusal(p, &out.Others[i])
	}
	return &out
}

func discreetPosition(at *paddock.Position) *paddock.Position {
	if at == nil {
		return nil
	}
	out := *at
	out.File = filepath.Base(at.File)
	return &out
}
