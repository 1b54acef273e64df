// Package form says which values of package store can be kept: how long a name may
// be, and that no text has what a database or a terminal would stumble over. Both
// databases then keep the same.
//
// # Limits
//
// Forms alone are looked at: whether a user exists, or may, is for others.
package form

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock/internal/store"
)

// finding collects what is wrong with a value.
type finding struct{ wrong []string }

func (f *finding) is(ok bool, what string) {
	if !ok {
		f.wrong = append(f.wrong, what)
	}
}

func (f *finding) text(what, s string, least, most int) {
	f.is(len(s) >= least && len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }),
		fmt.Sprintf("%s: want %d to %d bytes of UTF-8 without control characters", what, least, most))
}

func (f *finding) id(what, s string) {
	f.is(s != "" && len(s) <= store.MostID && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "", what+": not an id")
}

func (f *finding) words(what string, w store.Words) {
	f.is(len(w) <= store.MostWords, fmt.Sprintf("%s: more than %d", what, store.MostWords))
	for i, s := range w {
		f.text(what, s, 1, store.MostName)
		f.is(!slices.Contains(w[:i], s), what+": twice the same")
	}
}

func (f *finding) blob(what string, b []byte, most int) {
	f.is(len(b) <= most, fmt.Sprintf("%s: more than %d bytes", what, most))
}

func (f *finding) err(what string) error {
	if len(f.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w %s: %s", store.ErrInvalid, what, strings.Join(f.wrong, "; "))
}

// Role returns an ErrInvalid that says why r can't be kept.
func Role(r store.Role) error {
	f := &finding{}
	f.is(r == store.Viewer || r == store.Operator || r == store.Approver || r == store.Admin, "role: want viewer, operator, approver or admin")
	return f.err("role")
}

func (f *finding) role(r store.Role) {
	f.is(Role(r) == nil, "role: want viewer, operator, approver or admin")
}

func (f *finding) made(created store.Moment) { f.is(!created.IsZero(), "created: never") }

// User returns an ErrInvalid that says why u can't be kept.
func User(u store.User) error {
	f := &finding{}
	f.id("id", string(u.ID))
	f.text("name", u.Name, 1, store.MostName)
	f.role(u.Role)
	f.text("password", u.Password, 0, store.MostText)
	f.made(u.Created)
	return f.err("user")
}

// Identity returns an ErrInvalid that says why i can't be kept.
func Identity(i store.Identity) error {
	f := &finding{}
	f.text("issuer", i.Issuer, 1, store.MostText)
	f.text("subject", i.Subject, 1, store.MostText)
	f.id("owner", string(i.Owner))
	f.text("label", i.Label, 0, store.MostText)
	f.made(i.Created)
	return f.err("identity")
}

// Invitation returns an ErrInvalid that says why i can't be kept.
func Invitation(i store.Invitation) error {
	f := &finding{}
	f.id("id", string(i.ID))
	f.is(!i.Code.IsZero(), "code: none")
	f.role(i.Role)
	f.text("invitee", i.Invitee, 0, store.MostText)
	f.id("owner", string(i.Owner))
	f.made(i.Created)
	f.is(!i.Expires.IsZero(), "expires: never")
	return f.err("invitation")
}

// Session returns an ErrInvalid that says why s can't be kept.
func Session(s store.Session) error {
	f := &finding{}
	f.id("id", string(s.ID))
	f.is(!s.Secret.IsZero(), "secret: none")
	f.id("owner", string(s.Owner))
	f.text("device", s.Device, 0, store.MostText)
	f.text("address", s.Address, 0, store.MostName)
	f.made(s.Created)
	f.is(!s.Expires.IsZero(), "expires: never")
	return f.err("session")
}

// Token returns an ErrInvalid that says why t can't be kept.
func Token(t store.Token) error {
	f := &finding{}
	f.id("id", string(t.ID))
	f.is(!t.Secret.IsZero(), "secret: none")
	f.text("prefix", t.Prefix, 0, store.MostID)
	f.text("name", t.Name, 1, store.MostName)
	f.id("owner", string(t.Owner))
	f.words("scopes", t.Scopes)
	f.words("workspaces", t.Workspaces)
	f.made(t.Created)
	f.is(!t.Expires.IsZero(), "expires: never")
	return f.err("token")
}

// LoginLink returns an ErrInvalid that says why l can't be kept.
func LoginLink(l store.LoginLink) error {
	f := &finding{}
	f.is(!l.Secret.IsZero(), "secret: none")
	f.id("owner", string(l.Owner))
	f.text("purpose", l.Purpose, 0, store.MostName)
	f.made(l.Created)
	f.is(!l.Expires.IsZero(), "expires: never")
	return f.err("login link")
}

// Factor returns an ErrInvalid that says why v can't be kept.
func Factor(v store.Factor) error {
	f := &finding{}
	f.id("id", string(v.ID))
	f.id("owner", string(v.Owner))
	f.text("kind", v.Kind, 1, store.MostID)
	f.text("name", v.Name, 0, store.MostName)
	f.text("handle", v.Handle, 0, store.MostText)
	f.blob("data", v.Data, store.MostOutcome)
	f.is(v.Counter >= 0, "counter: negative")
	f.made(v.Created)
	return f.err("factor")
}

// Workspace returns an ErrInvalid that says why w can't be kept.
func Workspace(w store.Workspace) error {
	f := &finding{}
	f.id("id", string(w.ID))
	f.id("owner", string(w.Owner))
	f.text("name", w.Name, 1, store.MostName)
	f.text("root", w.Root, 1, store.MostName)
	f.text("path", w.Path, 0, store.MostText)
	f.made(w.Created)
	return f.err("workspace")
}

// Run returns an ErrInvalid that says why r can't be put into the queue.
func Run(r store.Run) error {
	f := &finding{}
	f.id("id", string(r.ID))
	f.id("owner", string(r.Owner))
	f.text("principal", r.Principal, 1, store.MostText)
	f.is(r.Workspace == "" || len(r.Workspace) <= store.MostID, "workspace: not an id")
	f.is(r.State == "queued" || r.State == "waiting", "state: want queued or waiting")
	f.is(r.Priority >= -store.MostPriority && r.Priority <= store.MostPriority, fmt.Sprintf("priority: want -%d to %d", store.MostPriority, store.MostPriority))
	f.words("needs", r.Needs)
	f.text("label", r.Label, 0, store.MostText)
	f.is(len(r.Envelope) > 0 || r.State == "waiting", "envelope: none")
	f.blob("envelope", r.Envelope, store.MostEnvelope)
	f.text("retry of", string(r.RetryOf), 0, store.MostID)
	f.text("key", r.Key, 0, store.MostName)
	f.text("request", string(r.Request), 1, store.MostName)
	f.made(r.Created)
	return f.err("run")
}

// Verdict returns an ErrInvalid that says why v can't settle a run.
func Verdict(v store.Verdict) error {
	f := &finding{}
	f.is(v.State.Settled(), "state: not one of an end")
	f.is(len(v.Outcome) > 0, "outcome: none")
	f.blob("outcome", v.Outcome, store.MostOutcome)
	f.is(!v.At.IsZero(), "at: never")
	return f.err("verdict")
}

// Heads returns an ErrInvalid that says why h can't be kept.
func Heads(h store.Heads) error {
	f := &finding{}
	f.is(h.StdoutBytes >= 0 && h.StderrBytes >= 0 && h.Events >= 0, "negative")
	f.text("digest", string(h.StdoutDigest), 0, store.MostName)
	f.text("digest", string(h.StderrDigest), 0, store.MostName)
	return f.err("heads")
}

// Mode returns an ErrInvalid that says why m is none.
func Mode(m store.Mode) error {
	f := &finding{}
	f.is(m == store.Open || m == store.Cordoned || m == store.Draining, "want open, cordoned or draining")
	return f.err("mode")
}

// Worker returns an ErrInvalid that says why w can't be kept.
func Worker(w store.Worker) error {
	f := &finding{}
	f.id("id", string(w.ID))
	f.text("name", w.Name, 1, store.MostName)
	f.is(!w.Credential.IsZero(), "credential: none")
	f.words("labels", w.Labels)
	f.is(w.Capacity >= 0, "capacity: negative")
	f.is(Mode(w.Mode) == nil, "mode: want open, cordoned or draining")
	f.text("version", w.Version, 0, store.MostName)
	f.made(w.Created)
	return f.err("worker")
}

// Approval returns an ErrInvalid that says why a can't be kept.
func Approval(a store.Approval) error {
	f := &finding{}
	f.id("id", string(a.ID))
	f.id("run", string(a.Run))
	f.id("owner", string(a.Owner))
	f.is(len(a.Ask) > 0, "ask: nothing")
	f.blob("ask", a.Ask, store.MostEnvelope)
	f.made(a.Created)
	f.is(!a.Expires.IsZero(), "expires: never")
	f.text("state", string(a.State), 1, store.MostID)
	return f.err("approval")
}

// Vote returns an ErrInvalid that says why v can't be kept.
func Vote(v store.Vote) error {
	f := &finding{}
	f.id("approval", string(v.Approval))
	f.text("key", v.Key, 1, store.MostName)
	f.is(len(v.Envelope) > 0, "envelope: none")
	f.blob("envelope", v.Envelope, store.MostEnvelope)
	f.made(v.Created)
	return f.err("vote")
}

// Nonce returns an ErrInvalid that says why n is none.
func Nonce(n string) error {
	f := &finding{}
	f.text("nonce", n, 16, store.MostName)
	return f.err("nonce")
}

// Labels returns an ErrInvalid that says why w can't be what a worker has.
func Labels(w store.Words) error {
	f := &finding{}
	f.words("labels", w)
	return f.err("labels")
}

// Words returns an ErrInvalid that says why one of the texts can't be kept.
func Words(texts ...string) error {
	f := &finding{}
	for _, s := range texts {
		f.text("text", s, 0, store.MostText)
	}
	return f.err("text")
}
