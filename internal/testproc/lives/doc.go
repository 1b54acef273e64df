// Package lives keeps a server going that is ended all the time, and has clients
// that go on: they ask again with the same key, and come back to a stream with the
// last id that they got, as anybody's would.
//
// It knows of the server only what a stranger is told: a line of JSON with its URL,
// the HTTP API and its server-sent events. What it is told is compared with the rules
// of docs/server.md by a reader of its own, since one that is shared with what is
// tested would share its mistakes.
//
// # Limits
//
// Only tests may import this package. A server that never says where it is, or
// answers nothing but faults, is tried until the test's context ends.
package lives
