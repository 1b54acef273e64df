// Package control is the conversation with a run's supervisor: one JSON object
// per line over a Unix socket, versioned, used both on the run's control socket
// and on the connection by which a supervisor is handed its job.
//
// # Limits
//
// The package carries words. It doesn't know what a supervisor does with them.
package control
