package judge

import (
	"context"

	"paddock"
	"paddock/internal/executor/judge/hook"
)

// What a host program says: see package hook.
type (
	Hook        = hook.Hook
	HookRequest = hook.Request
)

// ask lets the hook judge what everything else allows.
func (j *Judge) ask(ctx context.Context, req paddock.Request, d *paddock.Decision) {
	words, allowed := hook.Call(ctx, j.cfg.Hook, req, d.Grant())
	if allowed {
		d.Gates = d.Gates.With(paddock.GateResult{Gate: paddock.GateHook, Verdict: paddock.Pass, Detail: "the host program allows"})
		return
	}
	refusal := paddock.Refused(paddock.RuleDenied, "%s", words)
	refusal.Gate = paddock.GateHook
	deny(d, *refusal)
}
