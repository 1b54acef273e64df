// Package ndjson carries JSON-RPC messages, one a line, between an MCP client
// and the MCP library, and outlives whatever a client writes.
//
// The library's own stdio transport ends the session at the first line that it
// can't decode. Here such a line is answered with an error and the next one is
// read. A line is checked before the library sees it: it must be one JSON value
// without duplicate names and in valid UTF-8, because a decoder that keeps the
// last of two equal names lets a request say one thing to whoever reads it and
// another to whoever runs it. A line longer than the bound is read to its end
// in constant memory, only to find the id that the answer needs.
//
// When the client closes its side, the end is reported only after the calls in
// flight have been answered, so that a script that pipes requests in gets every
// answer. [Transport.Gone] says at once that it happened.
//
// # Limits
//
// The package knows nothing of tools, tasks or policy; the one thing that it
// can't say itself, how a tool call's error looks, it is given. It can't stop a
// read of a descriptor that doesn't return when closed: that goroutine then
// lives until the process ends.
package ndjson
