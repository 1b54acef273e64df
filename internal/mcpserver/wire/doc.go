// Package wire is what all ways of carrying MCP have in common: which bytes are a
// message, and whom an answer to bytes that aren't one is for.
//
// A message is one JSON value without duplicate names and in valid UTF-8, because a
// decoder that keeps the last of two equal names lets a request say one thing to
// whoever reads it and another to whoever runs it.
//
// # Limits
//
// The package carries nothing: its children do, on a pair of streams and over HTTP. It
// knows no methods but the one whose errors models read.
package wire
