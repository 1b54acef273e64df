package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census"
)

type (
	// A StateFinding is one thing in a state directory that doesn't fit.
	StateFinding = census.Finding
	// A StateReport says what was looked at.
	StateReport = census.Report
	// StateOptions say how closely to look.
	StateOptions = census.Options
	// A StateChange is something that was made again, or taken away because it led
	// nowhere.
	StateChange = census.Change
	// A StateRebuilt says what came of that.
	StateRebuilt = census.Rebuilt
)

// CheckState looks at everything in the state directory, and calls each with what
// doesn't fit: records that can't be read, entries that lead nowhere, what the
// journal tells otherwise, what crashes have left. It changes nothing, and any
// number of processes may use the directory meanwhile. The error is of the
// looking; findings are none.
func CheckState(ctx context.Context, stateDir string, opt StateOptions, each func(StateFinding) error) (report StateReport, err error) {
	err = withState(stateDir, func(c *census.Census) error {
		report, err = c.Check(ctx, opt, each)
		return err
	})
	return report, err
}

// RebuildState makes again what leads to the runs of the state directory, out of
// the runs alone, and calls each with what it changed. Nothing is lost with what
// it makes again.
func RebuildState(ctx context.Context, stateDir string, each func(StateChange) error) (rebuilt StateRebuilt, err error) {
	err = withState(stateDir, func(c *census.Census) error {
		rebuilt, err = c.Rebuild(ctx, each)
		return err
	})
	return rebuilt, err
}

func withState(dir string, f func(*census.Census) error) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("runner: the state directory is %q; it must be an absolute path", dir)
	}
	// Whose directory it is may look at all of it.
	operator := paddock.Principal{Kind: paddock.Operator, ID: fmt.Sprintf("operator:uid=%d", os.Getuid())}
	e, err := evidence.Open(operator, dir, time.Now)
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return errors.Join(f(census.Of(e)), e.Close())
}
