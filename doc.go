// Package paddock is the vocabulary of Paddock: the words that every other
// package, the files on disk, the command line and the wire agree on.
//
// A [Principal] asks for a [Command]. Both make a [Request], which is judged
// once into a [Decision]: either a [Grant] or one or more [Refusal] values. A
// granted request becomes a [Run], which ends with an [Outcome] and leaves two
// kept streams behind, read back as [Page] values.
//
// # Limits
//
// The package holds values and nothing else: it opens no file, reads no clock,
// starts nothing and decides nothing. Package policy decides, package executor
// acts.
package paddock
