package watch

import (
	"fmt"

	"paddock/internal/rundir"
)

// Silent says what can be done about a supervisor that doesn't answer.
func Silent(dir *rundir.Dir) error {
	started, err := dir.Started()
	if err != nil || started == nil {
		return fmt.Errorf("run %s: its supervisor can't be reached and still holds the run", dir.ID())
	}
	return fmt.Errorf("run %s: its supervisor, process %[2]d, doesn't answer and still holds the run: kill -CONT %[2]d if it was stopped; kill -KILL %[2]d ends it with the run", dir.ID(), started.Supervisor.PID)
}
