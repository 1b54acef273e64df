// Package names has what lies in a state directory.
//
// # Limits
//
// It looks at nothing.
package names

import (
	"paddock/internal/artifact/packed"
	"paddock/internal/books"
	"paddock/internal/executor/leases"
	"paddock/internal/lease/order"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/rundir/record/terminals"
)

// Anchors has what a server knows of the journals of its workers.
const Anchors = "anchors.json"

// Served has the settings with which a server was started last.
const Served = "served.json"

// Run are those of a run's directory that are regular files.
var Run = []string{
	"request.json", "decision.json", links.Claim, "token", "lock", "stdin", "started.json", "started.torn", "stdout", "stderr", "frames",
	"stdout.lines", "stderr.lines", "stdout.masks", "stderr.masks", "outcome.json", "noted", links.Seen, "deeds.jsonl", "network.jsonl", terminals.Name, "kept.json", "pruned.json", "reserve", "supervisor.log", "losses.json",
	"stdout" + packed.Suffix, "stderr" + packed.Suffix, "frames" + packed.Suffix, prune.Plain, "before.json", "policy", waiting.Name,
}

// State are the names of a state directory, and whether they are directories.
var State = map[string]bool{
	"format": false, links.Lock: false, "migrate.lock": false, "prune.lock": false, "pack.lock": false, "prune.reserve": false, "swept": false, "stage.json": false, Anchors: false, Served: false,
	"server.db": false, "server.db-wal": false, "server.db-shm": false, "server.db.lock": false, "server.key": false, order.Key: false, order.Key + ".pub": false,
	"runs": true, links.ActiveDir: true, links.UnseenDir: true, links.KeysDir: true, "tmp": true, "homes": true, "policies": true, "approvals": true, "tasks": true, "delegates": true, "roots": true, "journal": true, "stage": true, books.Dir: true, order.NoncesDir: true, leases.Dir: true,
}
