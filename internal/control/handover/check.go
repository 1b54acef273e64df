package handover

import (
	"errors"
	"fmt"

	"paddock"
)

// Check says what a job lacks, or that it is of another release.
func (j Job) Check() error {
	switch {
	case j.Version != JobVersion:
		return fmt.Errorf("the job has version %d and this supervisor speaks %d: paddock and paddock-stage are of different releases", j.Version, JobVersion)
	case len(j.Argv) == 0, j.RunDir == "", j.Timeout <= 0, j.OutputCap <= 0:
		return errors.New("the job is incomplete")
	case j.Terminal != nil && (!j.Terminal.Valid() || j.HasSink):
		return errors.New("the job has a terminal of no size that there is, or one beside another standard input or output")
	case j.HasSink != (j.Redact == paddock.Unkept):
		return errors.New("the job says that output is kept and that it isn't")
	}
	return nil
}

// Heard says why the run may not start: without a word that it is written down nobody
// would know of it.
func (j Job) Heard() error {
	switch {
	case !j.Written:
		return errors.New("there is no word that the run is written down")
	case j.Terminal != nil && j.HasStdin:
		return errors.New("the job has a terminal beside another standard input")
	}
	return nil
}
