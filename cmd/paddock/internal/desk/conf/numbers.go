package conf

import (
	"os"
	"path/filepath"

	"paddock/internal/httpapi/meter"
	"paddock/internal/httpapi/meter/process"
	"paddock/internal/relay/anchors"
)

// Numbers adds to a server's numbers those of its process, and how many runs of the
// state directory go on, and of the traces that are sent, if any are.
func Numbers(state string, traces func() (sent, overflow, failed int64)) func(*meter.Registry) {
	return func(r *meter.Registry) {
		process.Add(r)
		if traces != nil {
			r.Total("paddock_trace_spans_sent_total", "Spans that the collector of traces took.", func() float64 { n, _, _ := traces(); return float64(n) })
			r.Total("paddock_trace_spans_overflow_total", "Spans that were dropped since too many waited.", func() float64 { _, n, _ := traces(); return float64(n) })
			r.Total("paddock_trace_spans_failed_total", "Spans that were dropped since the collector didn't take them.", func() float64 { _, _, n := traces(); return float64(n) })
		}
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
