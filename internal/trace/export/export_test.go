package export_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"paddock/internal/testproc"
	"paddock/internal/trace"
	"paddock/internal/trace/export"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A scene is a collector, and an exporter whose time doesn't pass by itself.
type scene struct {
	*export.Exporter
	t     *testing.T
	ticks chan time.Time
	got   chan *collector.ExportTraceServiceRequest
	heads chan http.Header

	mu     sync.Mutex
	now    time.Time                          // guarded by mu
	answer func(w http.ResponseWriter, n int) // guarded by mu; nil takes everything
	asked  int                                // guarded by mu
	warned []string                           // guarded by mu
}

func newScene(t *testing.T, answer func(w http.ResponseWriter, n int)) *scene {
	t.Helper()
	s := &scene{t: t, ticks: make(chan time.Time), got: make(chan *collector.ExportTraceServiceRequest, 100), heads: make(chan http.Header, 100), now: noon, answer: answer}
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(srv.Close)
	s.Exporter = export.Begin(t.Context(), export.Config{
		Client: srv.Client(), Endpoint: srv.URL + "/v1/traces", Header: http.Header{"Authorization": {"Bearer word"}}, Service: "paddock-test", Version: "1", Ticks: s.ticks,
		Now:  func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now },
		Warn: func(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.warned = append(s.warned, err.Error()) },
	})
	t.Cleanup(s.Close)
	return s
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	var m collector.ExportTraceServiceRequest
	if err = errors.Join(err, proto.Unmarshal(text, &m)); err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	s.mu.Lock()
	s.asked++
	n, answer := s.asked, s.answer
	s.mu.Unlock()
	if answer != nil {
		answer(w, n)
	}
	s.heads <- r.Header
	s.got <- &m
}

// tick lets time pass and what waits be sent; the second waits until that was done.
func (s *scene) tick(d time.Duration) {
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	s.ticks <- noon
	s.ticks <- noon
}

func span(i int) trace.Span {
	return trace.Span{Context: trace.Context{Trace: [16]byte{1}, Span: [8]byte{1, byte(i), byte(i >> 8)}, Sampled: true}, Name: "run", Start: noon, End: noon.Add(time.Second)}
}

// What is sent is OTLP, with everything bounded and no text that isn't one.
func TestForm(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	one := span(7)
	one.Parent, one.Kind, one.Failed, one.Name = [8]byte{9}, trace.Server, "busy", "GET /\xff"+strings.Repeat("é", 200)
	one.Link = trace.Context{Trace: [16]byte{3}, Span: [8]byte{4}}
	one.Attributes = []trace.Attribute{trace.Text("a", strings.Repeat("x", 5000)), trace.Number("n", 5)}
	for range 30 {
		one.Attributes = append(one.Attributes, trace.Number("more", 1))
	}
	backwards := span(8)
	backwards.End = noon.Add(-time.Hour) // clocks of two machines
	s.Emit(one)
	s.Emit(backwards)
	s.tick(0)
	m, head := <-s.got, <-s.heads
	if head.Get("Authorization") != "Bearer word" {
		t.Errorf("headers are %v", head)
	}
	group := m.GetResourceSpans()[0]
	if a := group.GetResource().GetAttributes()[0]; a.GetKey() != "service.name" || a.GetValue().GetStringValue() != "paddock-test" {
		t.Errorf("who sends it is %v", a)
	}
	spans := group.GetScopeSpans()[0].GetSpans()
	w := spans[0]
	if [16]byte(w.GetTraceId()) != one.Trace || [8]byte(w.GetSpanId()) != one.Span || [8]byte(w.GetParentSpanId()) != one.Parent || w.GetKind() != wire.Span_SPAN_KIND_SERVER || w.GetStatus().GetMessage() != "busy" {
		t.Errorf("%v", w)
	}
	if len(w.GetName()) > 130 || !strings.HasPrefix(w.GetName(), "GET /?é") || len(w.GetAttributes()) != 16 || w.GetDroppedAttributesCount() != 16 || len(w.GetAttributes()[0].GetValue().GetStringValue()) != 128 || w.GetAttributes()[1].GetValue().GetIntValue() != 5 {
		t.Errorf("what is long: %v", w)
	}
	if l := w.GetLinks()[0]; l.GetTraceId()[0] != 3 || l.GetSpanId()[0] != 4 || w.GetEndTimeUnixNano()-w.GetStartTimeUnixNano() != uint64(time.Second) {
		t.Errorf("%v", w)
	}
	if w := spans[1]; w.GetEndTimeUnixNano() != w.GetStartTimeUnixNano() || w.GetParentSpanId() != nil || w.GetStatus() != nil || len(w.GetLinks()) != 0 {
		t.Errorf("%v", w)
	}
	if sent, overflow, failed := s.Counts(); sent != 2 || overflow != 0 || failed != 0 {
		t.Errorf("%d %d %d", sent, overflow, failed)
	}
}

// A collector that doesn't answer costs nobody anything: what is too much is dropped, and counted.
func TestSlow(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newScene(t, func(http.ResponseWriter, int) { <-gate })
	for i := range 10_000 { // the collector has the first batch, and answers nothing
		s.Emit(span(i))
	}
	if _, overflow, _ := s.Counts(); overflow < 10_000-4096-2*512 {
		t.Errorf("%d were dropped", overflow)
	}
	close(gate)
	s.Close()
	if sent, overflow, failed := s.Counts(); sent+overflow+failed != 10_000 || failed != 0 {
		t.Errorf("%d %d %d", sent, overflow, failed)
	}
}

// What isn't taken is tried again for a while where that may help, and said once.
func TestAgain(t *testing.T) {
	t.Parallel()
	status := http.StatusServiceUnavailable
	s := newScene(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.Header().Set("Retry-After", "60")
		}
		if n <= 3 {
			w.WriteHeader(status)
		}
	})
	s.Emit(span(1))
	s.tick(0)
	s.tick(30 * time.Second) // not yet
	if len(s.got) != 1 {
		t.Errorf("asked %d times", len(s.got))
	}
	s.tick(31 * time.Second)
	s.tick(time.Second) // too soon
	s.tick(time.Minute)
	s.tick(time.Minute)
	if sent, _, failed := s.Counts(); sent != 1 || failed != 0 || len(s.got) != 4 {
		t.Errorf("sent %d, failed %d, asked %d times", sent, failed, len(s.got))
	}
	s.mu.Lock()
	if len(s.warned) != 1 || !strings.Contains(s.warned[0], "503") {
		t.Errorf("said: %q", s.warned)
	}
	s.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusBadGateway) }
	s.mu.Unlock()
	s.Emit(span(2))
	for range 7 {
		s.tick(time.Minute)
	}
	if _, _, failed := s.Counts(); failed != 1 || len(s.got) != 9 {
		t.Errorf("given up: failed %d, asked %d times", failed, len(s.got))
	}
	s.mu.Lock()
	s.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusForbidden) }
	s.mu.Unlock()
	s.Emit(span(3))
	s.tick(time.Minute)
	s.tick(time.Minute)
	if _, _, failed := s.Counts(); failed != 2 || len(s.got) != 10 {
		t.Errorf("no use: failed %d, asked %d times", failed, len(s.got))
	}
}

// What a collector says that it left out is counted, whatever number it says.
func TestPartial(t *testing.T) {
	t.Parallel()
	said := []int64{1, 1 << 60, -5}
	s := newScene(t, func(w http.ResponseWriter, n int) {
		text, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: said[n-1]}})
		if _, bad := w.Write(text); err != nil || bad != nil {
			t.Error(err, bad)
		}
	})
	for range said {
		s.Emit(span(1))
		s.Emit(span(2))
		s.tick(0)
	}
	if sent, _, failed := s.Counts(); sent != 3 || failed != 3 {
		t.Errorf("sent %d, failed %d", sent, failed)
	}
}

// Who ends sends what is left, also when its context has ended before.
func TestClose(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.Emit(span(1))
	s.Close()
	s.Close()
	if sent, _, _ := s.Counts(); sent != 1 {
		t.Errorf("%d were sent", sent)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := export.Begin(ctx, export.Config{Client: &http.Client{}, Endpoint: "http://127.0.0.1:1/", Now: time.Now, Warn: func(error) {}})
	e.Emit(span(1))
	e.Close()
	if _, _, failed := e.Counts(); failed != 1 {
		t.Errorf("%d failed", failed)
	}
}

// A trip is how requests go that are answered when gate is open, and not sent a second time
// unless somebody does.
type trip struct {
	gate  chan struct{}
	asked atomic.Int64
}

func (t *trip) RoundTrip(r *http.Request) (*http.Response, error) {
	t.asked.Add(1)
	select {
	case <-t.gate:
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// What is on its way when its process ends may arrive, or it would be sent, and counted,
// twice; nobody waits for more than a moment.
func TestOnItsWay(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"answered": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				road, ticks := &trip{gate: make(chan struct{})}, make(chan time.Time)
				e := export.Begin(t.Context(), export.Config{Client: &http.Client{Transport: road}, Endpoint: "http://collector.test/", Now: time.Now, Ticks: ticks, Warn: func(error) {}})
				e.Emit(span(1))
				ticks <- noon
				synctest.Wait()
				begun := time.Now()
				closed := make(chan struct{})
				go func() { defer close(closed); e.Close() }()
				synctest.Wait()
				if answers {
					close(road.gate)
				}
				<-closed
				sent, _, failed := e.Counts()
				if want := map[bool]int64{true: 1}[answers]; sent != want || failed != 1-want || answers && road.asked.Load() != 1 {
					t.Errorf("sent %d, failed %d, asked %d times", sent, failed, road.asked.Load())
				}
				if took := time.Since(begun); took > 3*time.Second || answers && took > 0 {
					t.Errorf("its end took %v", took)
				}
			})
		})
	}
}
