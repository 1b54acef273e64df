//go:build linux

package process_test

import (
	"regexp"
	"strings"
	"testing"

	"paddock/internal/httpapi/meter"
	"paddock/internal/httpapi/meter/process"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Every number is one that a living process has.
func TestNumbers(t *testing.T) {
	r := meter.New()
	process.Add(r)
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, name := range []string{
		"go_goroutines", "go_memstats_heap_alloc_bytes", "go_memstats_stack_inuse_bytes", "go_memstats_sys_bytes", "go_memstats_next_gc_bytes",
		"go_sched_gomaxprocs_threads", "go_memstats_alloc_bytes_total", "process_cpu_seconds_total",
		"process_resident_memory_bytes", "process_open_fds", "process_max_fds",
	} {
		if !regexp.MustCompile(`(?m)^` + name + ` [0-9.e+]*[1-9]`).MatchString(text) {
			t.Errorf("%s isn't there, or is 0", name)
		}
	}
	if !strings.Contains(text, "# TYPE go_gc_cycles_total counter\n") || !strings.Contains(text, `go_info{version="go1`) {
		t.Errorf("%s", text)
	}
}
