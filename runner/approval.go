package runner

import "context"

// Approvals returns what rules asked about of this principal's requests, newest first.
// A run that waits for one is in the state Waiting, and starts by itself when it is
// approved, for as long as this Runner is open.
func (r *Runner) Approvals(ctx context.Context) ([]Approval, error) {
	return r.app.Approvals(ctx, r.principal)
}

// Approval returns one of them, with every fact that it is bound to.
func (r *Runner) Approval(ctx context.Context, id ApprovalID) (Approval, error) {
	return r.app.Approval(ctx, r.principal, id)
}

// Question returns what exactly is signed about an approval: what a person shows with
// `paddock approve sign`, and signs with --yes or --deny.
func (r *Runner) Question(ctx context.Context, id ApprovalID) ([]byte, error) {
	return r.app.Question(ctx, r.principal, id)
}

// Vote puts down what somebody signed. What counts is that the policy lists the key,
// and that it isn't of who asks: this principal can bring a vote, and has none.
func (r *Runner) Vote(ctx context.Context, id ApprovalID, signed []byte) (Approval, error) {
	return r.app.Vote(ctx, r.principal, id, signed)
}
