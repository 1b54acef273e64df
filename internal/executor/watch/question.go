package watch

import (
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/prompt"
	"paddock/internal/rundir"
)

// askAfter is the silence after which a question counts as one: a program that
// goes on printing isn't waiting.
const askAfter = paddock.Duration(3 * time.Second)

// Questioned says whether a silent run seems to wait for an answer.
func Questioned(dir *rundir.Dir, run paddock.Run) paddock.Run {
	run.Asks = run.State == paddock.Running && run.Silent >= askAfter && prompt.Asked(artifact.Open(dir.Path()))
	return run
}
