package document

import (
	"cmp"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/form"
)

// Delegates is the section of that name, with what launch says of agents.
type Delegates = form.Delegates

// What holds where the section says nothing.
const (
	delegateTimeout    = paddock.Duration(30 * time.Minute)
	delegateWait       = paddock.Duration(10 * time.Minute)
	delegateConcurrent = 4
)

func (b *builder) delegates(file *shape.Value) Delegates {
	v := file.Get("delegates")
	d := Delegates{Agents: b.text(file.Get("launch").Get("agents")).Value == "true"}
	if v == nil {
		return d
	}
	d.At = b.at(v)
	d.Concurrent = cmp.Or(int(b.number(v.Get("concurrent"))), delegateConcurrent)
	d.Depth = cmp.Or(int(b.number(v.Get("depth"))), 1)
	d.Wait = cmp.Or(b.duration(v.Get("wait")), delegateWait)
	timeout := cmp.Or(b.duration(v.Get("timeout")), delegateTimeout)
	for _, e := range v.Get("providers").Pairs() {
		p := form.Provider{At: b.at(e.Value), Executable: Executable{
			At: b.at(e.Key), Name: b.text(e.Key), Path: b.clean(e.Value.Get("path")), SHA256: b.text(e.Value.Get("sha256")),
			Any: true, ArgsAt: b.at(e.Key), LimitsAt: b.at(e.Value.Get("limits")), LineBreaks: true, MaxArgBytes: 128 << 10,
			Environment: b.environment(e.Value.Get("environment")), Limits: b.limits(e.Value.Get("limits")),
		}}
		p.Executable.Limits.Timeout = cmp.Or(p.Executable.Limits.Timeout, timeout)
		for _, item := range e.Value.Get("network").Items() {
			p.Executable.Network = append(p.Executable.Network, b.reach(item))
		}
		if len(p.Executable.Network) > 0 && b.text(file.Get("containment").Get("network")).Value != "allowlist" {
			b.fault(e.Value.Get("network"), "nothing holds a program to this list unless `containment` says `network: allowlist`; say so, or remove the list")
		}
		for _, word := range b.texts(e.Value.Get("args")) {
			p.Args = append(p.Args, word.Value)
		}
		for _, tool := range b.texts(e.Value.Get("tools")) {
			p.Tools = append(p.Tools, tool.Value)
		}
		d.Providers = append(d.Providers, p)
	}
	return d
}
