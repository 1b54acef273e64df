// Package process counts what the server's own process uses, by the names that
// dashboards of Go programs know.
//
// # Limits
//
// What isn't known on a system is left out. Runs are processes of their own and aren't
// in these numbers.
package process

import (
	"runtime"
	"runtime/metrics"

	"paddock/internal/httpapi/meter"
)

// Add adds the numbers to r.
func Add(r *meter.Registry) {
	for _, n := range []struct{ name, help, of string }{
		{"go_goroutines", "Goroutines that exist.", "/sched/goroutines:goroutines"},
		{"go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", "/memory/classes/heap/objects:bytes"},
		{"go_memstats_heap_idle_bytes", "Bytes that the heap holds and doesn't use.", "/memory/classes/heap/free:bytes"},
		{"go_memstats_stack_inuse_bytes", "Bytes of stacks.", "/memory/classes/heap/stacks:bytes"},
		{"go_memstats_sys_bytes", "Bytes that the Go runtime has from the system.", "/memory/classes/total:bytes"},
		{"go_memstats_next_gc_bytes", "Size of the heap at which the next collection begins.", "/gc/heap/goal:bytes"},
		{"go_sched_gomaxprocs_threads", "Threads that may run Go code at once.", "/sched/gomaxprocs:threads"},
	} {
		r.Gauge(n.name, n.help, func() float64 { return read(n.of) })
	}
	r.Total("go_gc_cycles_total", "Collections that were completed.", func() float64 { return read("/gc/cycles/total:gc-cycles") })
	r.Total("go_memstats_alloc_bytes_total", "Bytes that were allocated.", func() float64 { return read("/gc/heap/allocs:bytes") })
	r.Info("go_info", "The version of Go.", []string{"version"}, runtime.Version())
	system(r)
}

// read asks the runtime for one number, which is 0 if this version doesn't know it.
func read(name string) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	switch s[0].Value.Kind() {
	case metrics.KindUint64:
		return float64(s[0].Value.Uint64())
	case metrics.KindFloat64:
		return s[0].Value.Float64()
	}
	return 0
}
