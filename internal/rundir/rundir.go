// Package rundir is the state directory: where each run has a directory of its
// own that is the truth about it.
//
//	STATE/format                 the layout's version
//	STATE/claim.lock             held while a run is claimed
//	STATE/runs/20261129/r…/      one run
//	STATE/active/r…              an entry per run that isn't settled
//	STATE/unseen/HASH/r…         an entry per run whose end its owner hasn't read
//	STATE/keys/HASH              idempotency keys
//	STATE/homes/HASH/            private home directories, one per root
//
// A run's directory holds request.json, decision.json, token, lock, control
// (a socket), started.json, stdout, stderr, frames and, when the run is over,
// outcome.json. It is made under a temporary name, locked, and renamed into
// place; the locked descriptor goes to the supervisor. outcome.json is linked
// into place, so the first one wins and none is ever replaced.
//
// # Limits
//
// The package starts and signals nothing, judges no request and reads no
// output. It trusts the state directory's owner, whom it checks.
package rundir
