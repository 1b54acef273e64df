// Package used has the verb about quotas: what a principal has used of what the policy
// lets it use, and when some is free again.
//
// # Limits
//
// It tells of the quotas that hold for a principal wherever it is: what the policy narrows
// for one root is decided, and told, when a run is asked for there. What all together have
// used is told to operators only.
package used

import (
	"context"
	"errors"
	"strings"
	"time"

	"paddock"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/policy"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
)

// Quotas are what a principal has used.
type Quotas struct {
	// Active is how many of its runs go on, Concurrent how many may at once.
	Active     int `json:"active"`
	Concurrent int `json:"concurrent"`
	// Counters are the quotas that there are.
	Counters []Counter `json:"counters"`
}

// A Counter is one quota.
type Counter struct {
	// Name is how the policy says it, such as principal.runs_per_hour.
	Name string `json:"name"`
	// Limit is what may be used, Used what is, Reserved what runs that go on may use yet,
	// and Left what may still be: runs, bytes, or nanoseconds of processors.
	Limit    int64 `json:"limit"`
	Used     int64 `json:"used"`
	Reserved int64 `json:"reserved,omitempty"`
	Left     int64 `json:"left"`
	// Again is when some is free again, where none is left and time alone does it.
	Again *time.Time `json:"again_at,omitempty"`
}

// A House is where runs are counted: a state directory, and the policy that holds there.
type House struct {
	State  string
	Policy interface {
		Load() (*policy.Policy, error)
	}
	Now func() time.Time
}

// Quotas returns what of has used, to by: itself, or an operator.
func (h House) Quotas(ctx context.Context, by, of paddock.Principal) (q Quotas, err error) {
	if of.ID == "" || by.Kind != paddock.Operator && by != of {
		return q, paddock.Refused(paddock.NotFound, "There is no such principal among those that you may see.")
	}
	p, err := h.Policy.Load()
	if err != nil {
		return q, err
	}
	state, err := rundir.Open(h.State)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	quotas := p.Quotas(of, "")
	var facts usage.Facts
	err = state.Claim(ctx, func(c *rundir.Claim) (err error) {
		q.Active, facts, err = budget.Budget{State: state}.Facts(ctx, c, of, quotas, h.Now())
		return err
	})
	if err != nil {
		return q, err
	}
	q.Concurrent, q.Counters = p.Applied(of, "").Concurrent(), []Counter{}
	for _, c := range usage.Counters(quotas, facts) {
		if strings.HasPrefix(c.Name, "total.") && by.Kind != paddock.Operator {
			continue
		}
		one := Counter{Name: c.Name, Limit: c.Limit, Used: c.Used, Reserved: c.Reserved, Left: c.Left()}
		if one.Left == 0 && !c.Again.IsZero() {
			again := c.Again.UTC()
			one.Again = &again
		}
		q.Counters = append(q.Counters, one)
	}
	return q, nil
}
