// Package mcpserver is the door for agents: the tools for runs, and for git where
// the policy registers it, over the Model Context Protocol on a pair of streams.
//
// A tool call is decoded strictly, handed to one verb of package app and
// answered with structured content and the same JSON as text. What the policy
// refuses is a tool error that carries the refusal's code, hint and suggestion,
// because models see tool errors and few clients show them protocol errors. A
// call waits at most 45 seconds, which is less than clients wait, and may be
// repeated without losing anything: the context of a call bounds the call, never
// the life of a run.
//
// # Limits
//
// The package decides nothing: whether a principal may do a thing is asked of
// the verbs, with the principal that it was given. It starts nothing, keeps no
// output and opens no file. It serves one connection, and speaks no HTTP.
package mcpserver
