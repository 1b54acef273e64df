// Command paddock runs programs for callers that must not be trusted, under a
// policy that the operator wrote, and keeps everything that they print.
//
// One file holds one command. Each turns flags into a request, asks one of the
// [verbs], and shows the answer with tui.go. main.go is where the rooms of the
// house are wired together; nothing else knows them all.
//
// # Limits
//
// The command decides nothing and starts nothing: package app answers, and its
// answer is shown. What a person sees is in tui.go and nowhere else.
package main
