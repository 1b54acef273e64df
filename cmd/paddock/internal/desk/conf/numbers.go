package conf

import (
	"os"
	"path/filepath"

	"paddock/internal/httpapi/meter"
	"paddock/internal/httpapi/meter/process"
	"paddock/internal/relay/anchors"
)

// Numbers adds to a server's numbers those of its process, and how many runs of the
// state directory go on.
func Numbers(state string) func(*meter.Registry) {
	return func(r *meter.Registry) {
		process.Add(r)
		r.Gauge("paddock_worker_journal_alarms", "Workers whose journal isn't what this server knew of it.", func() float64 { return float64(anchors.Alarms(state)) })
		r.Gauge("paddock_runs_open", "Runs of this state directory that aren't known to be over.", func() float64 {
			entries, err := os.ReadDir(filepath.Join(state, "active"))
			if err != nil {
				return 0
			}
			return float64(len(entries))
		})
	}
}
