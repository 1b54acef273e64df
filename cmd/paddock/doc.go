// Command paddock runs programs for callers that must not be trusted, under a
// policy that the operator wrote, and keeps everything that they print.
//
// A command turns flags into a request, asks one of the house's verbs, and shows
// the answer. The commands, one file each, are in the rooms below
// internal/desk; here are those about the program itself, and the wiring: main.go
// and wire.go are the only places that know all rooms.
//
// # Limits
//
// The command decides nothing and starts nothing: package app answers, and its
// answer is shown. What a person sees is in internal/desk/screen/tui.go and
// nowhere else.
package main
