// Package meter counts what the door does and writes it as Prometheus reads it, in the
// text format 0.0.4.
//
// Labels come from the program and never from who asks: routes are the patterns of the
// table, statuses are the hundreds, codes those of the catalogue. So their number is
// bounded, whatever is sent.
//
// # Limits
//
// Counters, gauges and one kind of histogram, which is what is needed here; the client
// library of Prometheus would cost every start of every command (docs/design/0081).
package meter

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Registry holds families of numbers. Its methods may be called concurrently.
type Registry struct {
	mu       sync.Mutex
	families map[string]*family // guarded by mu
}

// New returns an empty Registry.
func New() *Registry { return &Registry{families: map[string]*family{}} }

type family struct {
	kind, help string
	labels     []string
	buckets    []float64
	read       func() float64 // of a gauge that is asked for
	series     map[string]*series
}

type series struct {
	value  float64 // or the sum of a histogram
	counts []uint64
	count  uint64
}

func (r *Registry) add(name string, f *family) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.families[name] != nil {
		panic("paddock: bug: two families of numbers called " + name)
	}
	f.series = map[string]*series{}
	r.families[name] = f
}

// Gauge adds a number that is asked for when it is read.
func (r *Registry) Gauge(name, help string, read func() float64) {
	r.add(name, &family{kind: "gauge", help: help, read: read})
}

// Total adds a counter that is asked for when it is read.
func (r *Registry) Total(name, help string, read func() float64) {
	r.add(name, &family{kind: "counter", help: help, read: read})
}

// Info adds a number that is always 1, for what its labels say.
func (r *Registry) Info(name, help string, labels []string, values ...string) {
	f := &family{kind: "gauge", help: help, labels: labels}
	r.add(name, f)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.at(values).value = 1
}

// A Counter only grows.
type Counter struct {
	registry *Registry
	family   *family
}

// Counter adds a counter with labels.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	f := &family{kind: "counter", help: help, labels: labels}
	r.add(name, f)
	return &Counter{r, f}
}

// Add adds to the series with the values of the labels.
func (c *Counter) Add(n float64, values ...string) {
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	c.family.at(values).value += n
}

// A Histogram counts how often something was at most so much.
type Histogram struct {
	registry *Registry
	family   *family
}

// Histogram adds a histogram with labels.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	f := &family{kind: "histogram", help: help, labels: labels, buckets: buckets}
	r.add(name, f)
	return &Histogram{r, f}
}

// Observe counts v in the series with the values of the labels.
func (h *Histogram) Observe(v float64, values ...string) {
	h.registry.mu.Lock()
	defer h.registry.mu.Unlock()
	s := h.family.at(values)
	if s.counts == nil {
		s.counts = make([]uint64, len(h.family.buckets))
	}
	for i, most := range h.family.buckets {
		if v <= most {
			s.counts[i]++
		}
	}
	s.count++
	s.value += v
}

// at returns a series. The caller holds the registry's mutex.
func (f *family) at(values []string) *series {
	if len(values) != len(f.labels) {
		panic(fmt.Sprintf("paddock: bug: %d values for the labels %v", len(values), f.labels))
	}
	key := f.key(values)
	if f.series[key] == nil {
		f.series[key] = &series{}
	}
	return f.series[key]
}

// key is how the labels are written.
func (f *family) key(values []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = f.labels[i] + `="` + escape.Replace(v) + `"`
	}
	return strings.Join(words, ",")
}

// Write writes every number, in the order of names.
func (r *Registry) Write(w io.Writer) error {
	var b bytes.Buffer
	r.mu.Lock()
	var asked []string
	for _, name := range slices.Sorted(maps.Keys(r.families)) {
		f := r.families[name]
		if f.read != nil {
			asked = append(asked, name)
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, f.kind)
		for _, key := range slices.Sorted(maps.Keys(f.series)) {
			f.write(&b, name, key)
		}
	}
	r.mu.Unlock()
	for _, name := range asked { // outside of the mutex: it may ask anybody
		r.mu.Lock()
		f := r.families[name]
		r.mu.Unlock()
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %s\n", name, f.help, name, f.kind, name, number(f.read()))
	}
	_, err := b.WriteTo(w)
	return err
}

func (f *family) write(b *bytes.Buffer, name, key string) {
	s, labels := f.series[key], ""
	if key != "" {
		labels = "{" + key + "}"
	}
	if f.buckets == nil {
		fmt.Fprintf(b, "%s%s %s\n", name, labels, number(s.value))
		return
	}
	comma := ""
	if key != "" {
		comma = ","
	}
	for i, most := range f.buckets {
		fmt.Fprintf(b, "%s_bucket{%s%sle=%q} %d\n", name, key, comma, number(most), s.counts[i])
	}
	fmt.Fprintf(b, "%s_bucket{%s%sle=\"+Inf\"} %d\n%s_sum%s %s\n%s_count%s %d\n", name, key, comma, s.count, name, labels, number(s.value), name, labels, s.count)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
