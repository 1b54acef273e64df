package walls

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/contain/protect"
	"paddock/internal/control/handover"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// lifted are the paths of the workspace, relative to it, that the policy gives to
// runs for writing: then nothing there is protected.
func lifted(job handover.Job) []string {
	var except []string
	for _, path := range job.Contain.Write {
		if inside, err := filepath.Rel(job.Root, path); err == nil && filepath.IsLocal(inside) {
			except = append(except, inside)
		}
	}
	return except
}

// deeper says what is to become of protected places that the run makes; empty where
// it can make none.
func deeper(job handover.Job) string {
	switch {
	case job.Root == "", job.Contain.ReadOnly, job.Contain.Workspace == paddock.OverlayWorkspace:
		return ""
	case job.Root == "/": // the whole machine can't be looked at for each run
		return paddock.IgnoreDeeper
	}
	return cmp.Or(job.Contain.Deeper, paddock.QuarantineDeeper)
}

// Look sees which protected places there are before the run, and writes that into its
// directory. What appears after it is the run's doing, so it comes last before the start.
func (w *Walls) Look() (err error) {
	mode := deeper(w.job)
	if mode == "" || mode == paddock.IgnoreDeeper {
		return nil
	}
	except := lifted(w.job)
	if w.guard != nil {
		for _, place := range w.guard.Paths() {
			if !place.Pinned { // the run can't change these
				except = append(except, place.Name)
			}
		}
	}
	w.watch, err = quarantine.Begin(quarantine.Options{
		Root: w.job.Root, RunDir: w.job.RunDir, Judge: protect.Judge, Ours: protect.Ours, Except: except,
		Report: mode == paddock.ReportDeeper, Now: time.Now,
	})
	return err
}

// Found looks again, once the run is over but for survivors, and does with what it
// finds what is to become of it. Nil means that nobody looks.
func (w *Walls) Found(survivors int) *paddock.Deeper {
	if w.watch == nil {
		return nil
	}
	return w.watch.End(survivors)
}

func (w *Walls) unwatch() {
	if w.watch == nil {
		return
	}
	if err := w.watch.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "what there was before:", err)
	}
	w.watch = nil
}
