package meter

import (
	"strings"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestWrite(t *testing.T) {
	r := New()
	c := r.Counter("b_total", "Requests.", "route", "status")
	c.Add(1, "GET /a", "2xx")
	c.Add(2, "GET /a", "2xx")
	c.Add(1, "say \"hi\"\n\\", "4xx")
	h := r.Histogram("c_seconds", "How long.", []float64{0.1, 1}, "route")
	h.Observe(0.05, "x")
	h.Observe(0.5, "x")
	h.Observe(5, "x")
	r.Gauge("a_open", "Open.", func() float64 { return 1.5 })
	want := `# HELP b_total Requests.
# TYPE b_total counter
b_total{route="GET /a",status="2xx"} 3
b_total{route="say \"hi\"\n\\",status="4xx"} 1
# HELP c_seconds How long.
# TYPE c_seconds histogram
c_seconds_bucket{route="x",le="0.1"} 1
c_seconds_bucket{route="x",le="1"} 2
c_seconds_bucket{route="x",le="+Inf"} 3
c_seconds_sum{route="x"} 5.55
c_seconds_count{route="x"} 3
# HELP a_open Open.
# TYPE a_open gauge
a_open 1.5
`
	var b strings.Builder
	if err := r.Write(&b); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}
