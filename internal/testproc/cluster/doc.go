// Package cluster starts a PostgreSQL for tests: one for each test binary, at its
// first use, of nobody else, on a socket in a directory of its own. It forgets
// everything at the end of the run ([paddock/internal/testproc.Main]).
//
// # Limits
//
// It has the server that is installed here, on Linux, and skips where there is
// none. What it keeps is gone if the machine goes down, which makes it fast. Databases and
// users in it are made by those who use it.
package cluster
