// Package export sends spans to who collects them, by OTLP over HTTP.
//
// Nobody waits for it: a span is put into a queue of a bounded length, and is counted as
// dropped where that is full. What can't be sent is tried again for a while and then
// dropped, too. So a collector that is slow, gone or hostile costs requests and runs nothing.
//
// # Limits
//
// Only traces are sent, without compression, and a process that is killed takes what it
// hadn't sent with it. By which client is asked, and so where that may connect to, is for
// others to say.
package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"paddock/internal/trace"
)

const (
	// waiting is how many spans wait at most, batch how many are sent at once.
	waiting = 4096
	batch   = 512
	every   = 3 * time.Second
	// attempts is how often one batch is sent at most, and patience how long Close tries.
	attempts = 5
	patience = 2 * time.Second
	longest  = 5 * time.Minute // that a collector can have us wait
)

// A Config says what an Exporter works with. Ticks may be nil.
type Config struct {
	Client   *http.Client
	Endpoint string // of traces, as https://collector.example.org:4318/v1/traces
	Header   http.Header
	// Service, Version and Instance say who sends.
	Service, Version, Instance string
	Now                        func() time.Time
	// Ticks say when to send what isn't a whole batch; nil means a time.Ticker.
	Ticks <-chan time.Time
	// Warn is told what goes wrong, of the same trouble once.
	Warn func(error)
}

// An Exporter is a [trace.Sink]. It must be made with [Begin].
type Exporter struct {
	cfg   Config
	queue chan trace.Span
	full  chan struct{} // a batch waits
	end   context.CancelFunc
	done  sync.WaitGroup

	sent, overflow, failed atomic.Int64
}

// Begin begins to send. Close must be called.
func Begin(ctx context.Context, c Config) *Exporter {
	e := &Exporter{cfg: c, queue: make(chan trace.Span, waiting), full: make(chan struct{}, 1)}
	ctx, e.end = context.WithCancel(context.WithoutCancel(ctx))
	e.done.Go(func() { e.work(ctx) })
	return e
}

// last is a context for what is sent, which ends a while after ctx has: what is on its way
// then may arrive, since who sent it again would have it counted twice.
func last(ctx context.Context) (context.Context, context.CancelFunc) {
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	limit := time.AfterFunc(patience, cut)
	limit.Stop()
	stop := context.AfterFunc(ctx, func() { limit.Reset(patience) })
	return sending, func() { stop(); limit.Stop(); cut() }
}

// Emit implements trace.Sink: it never waits.
func (e *Exporter) Emit(s trace.Span) {
	select {
	case e.queue <- s:
	default:
		e.overflow.Add(1)
		return
	}
	if len(e.queue) >= batch {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

// Counts says how many spans a collector took, how many found the queue full, and how many
// no collector took.
func (e *Exporter) Counts() (sent, overflow, failed int64) {
	return e.sent.Load(), e.overflow.Load(), e.failed.Load()
}

// Close sends what is left, as far as that takes no time to speak of.
func (e *Exporter) Close() {
	e.end()
	e.done.Wait()
}

// A load is what is sent at once.
type load struct {
	text  []byte
	spans int
	tries int
	not   time.Time // before this it isn't tried again
}

func (e *Exporter) work(ctx context.Context) {
	ticks := e.cfg.Ticks
	if ticks == nil {
		t := time.NewTicker(every)
		defer t.Stop()
		ticks = t.C
	}
	sending, cancel := last(ctx)
	defer cancel()
	var l load
	var said string
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticks:
			e.flush(sending, &l, &said)
		case <-e.full:
			e.flush(sending, &l, &said)
		}
	}
	l.not = time.Time{}
	e.flush(sending, &l, &said)
	e.failed.Add(int64(l.spans + len(e.queue)))
}

// flush sends batches until nothing waits, or one isn't taken. What goes wrong is said
// when it is another thing than the last time.
func (e *Exporter) flush(ctx context.Context, l *load, said *string) {
	for {
		if l.spans == 0 {
			if *l = e.next(); l.spans == 0 {
				return
			}
		}
		if e.cfg.Now().Before(l.not) {
			return
		}
		again, err := e.send(ctx, l)
		if err == nil {
			*l, *said = load{}, ""
			continue
		}
		if *said != err.Error() {
			*said = err.Error()
			e.cfg.Warn(fmt.Errorf("traces: %w", err))
		}
		if l.tries++; again && l.tries < attempts {
			if soon := e.cfg.Now().Add(every); l.not.Before(soon) {
				l.not = soon // full queues wake us all the time
			}
			return
		}
		e.failed.Add(int64(l.spans))
		*l = load{}
	}
}

// next takes a batch from the queue.
func (e *Exporter) next() load {
	var spans []trace.Span
	for len(spans) < batch {
		select {
		case s := <-e.queue:
			spans = append(spans, s)
			continue
		default:
		}
		break
	}
	if len(spans) == 0 {
		return load{}
	}
	text, err := proto.Marshal(e.request(spans))
	if err != nil { // no text of ours is other than UTF-8
		e.failed.Add(int64(len(spans)))
		e.cfg.Warn(fmt.Errorf("traces that can't be written: %w", err))
		return load{}
	}
	return load{text: text, spans: len(spans)}
}

// send sends one batch, and says whether to try again.
func (e *Exporter) send(ctx context.Context, l *load) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.Endpoint, bytes.NewReader(l.text))
	if err != nil {
		return false, err
	}
	for k, v := range e.cfg.Header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "paddock/"+cmp.Or(e.cfg.Version, "unknown"))
	res, err := e.cfg.Client.Do(r)
	if err != nil {
		return true, err
	}
	// What is answered is bounded by the client, and of use only where it says no.
	text, bad := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	bad = errors.Join(bad, res.Body.Close())
	switch res.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		lost := int64(0)
		var answer collector.ExportTraceServiceResponse
		if bad == nil && proto.Unmarshal(text, &answer) == nil {
			lost = min(max(answer.GetPartialSuccess().GetRejectedSpans(), 0), int64(l.spans))
		}
		e.sent.Add(int64(l.spans) - lost)
		e.failed.Add(lost)
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
			l.not = e.cfg.Now().Add(min(time.Duration(min(n, 1<<20))*time.Second, longest))
		}
		again = true
	}
	return again, fmt.Errorf("the collector answers with the status %d", res.StatusCode)
}
