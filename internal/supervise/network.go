//go:build linux

package supervise

import (
	"cmp"
	"syscall"

	"paddock"
	"paddock/internal/contain/filter/denied"
	"paddock/internal/supervise/outlet"
)

// wayOut starts the proxy of a run that has one, before the run: a program that
// is there must not wait for it in vain. It returns nil for other runs.
func (r *run) wayOut() (*outlet.Outlet, error) {
	if r.job.Contain.Network != "allowlist" {
		return nil, nil
	}
	defer r.files.Secrets.Close() // nil, too; nobody here reads it
	return outlet.Start(cmp.Or(r.opt.Self, "/proc/self/exe"), r.job.RunDir, r.job.Contain.Reach, r.files.Secrets)
}

// open lets the run out. A run whose connections can't be written down ends.
func (r *run) open(way *outlet.Outlet) {
	unrecorded := func(err error) end {
		return end{paddock.Reason{Kind: paddock.ReasonSink, Detail: "the run's connections can't be recorded: " + err.Error()}, syscall.SIGTERM}
	}
	err := way.Serve(r.program.Socket(), r.hiding.Entry, func(err error) { r.ask(unrecorded(err)) })
	if err != nil && r.reason == nil {
		r.begin(unrecorded(err))
	}
}

// listen hears what the kernel denies.
func (r *run) listen() *denied.Listener {
	return denied.Listen(r.program.Listener(), r.program.Routes())
}

// denials is what the kernel denied, in words that fit the run's network.
func (r *run) denials(heard *denied.Listener) []paddock.Denial {
	all := heard.Denials(r.survivors == 0)
	for i := range all {
		if all[i].Call == "network" && r.job.Contain.Network == "allowlist" {
			all[i].Text = "the run tried to reach the network past its proxy; only what uses HTTP_PROXY, HTTPS_PROXY or ALL_PROXY gets out"
		}
	}
	return all
}
