package relay

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/warrant"
	"paddock/internal/relay/asking"
	"paddock/internal/relay/wire"
)

func giver(t *testing.T) *asking.Giver {
	t.Helper()
	dir := t.TempDir()
	key, err := sign.Create(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	nonces, err := order.NoncesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &asking.Giver{Giver: &warrant.Giver{Key: key, Nonces: nonces, Now: time.Now}, Warn: func(err error) { t.Error(err) }}
}

func ordered(t *testing.T, key *sign.Key) (order.Order, []byte) {
	t.Helper()
	o, err := order.New(newID(t), paddock.Request{Command: paddock.Command{Argv: []string{"true"}}}, time.Now(), time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	return o, text
}

// Two workers are connected to two servers. Of each order one of the workers gets the
// warrant, from the server that signed it.
func TestWarrants(t *testing.T) {
	t.Parallel()
	givers := []*asking.Giver{giver(t), giver(t)}
	keys := []*sign.Public{&givers[0].Key.Public, &givers[1].Key.Public}
	desks := []*asking.Desk{asking.NewDesk("w1", keys...), asking.NewDesk("w2", keys...)}
	for _, g := range givers {
		hub := NewHub(t.Context(), guard)
		t.Cleanup(hub.Close)
		hub.Gives(g)
		s := server(t, hub)
		for i, d := range desks {
			work(t, Config{Server: s.URL, Token: []string{"w1", "w2"}[i], House: newHouse(), Desk: d})
		}
	}
	var all sync.WaitGroup
	for _, g := range givers {
		for range 50 {
			o, text := ordered(t, g.Key)
			errs := make([]error, len(desks))
			all.Go(func() {
				var both sync.WaitGroup
				for i, d := range desks {
					both.Go(func() { errs[i] = d.First(t.Context(), o, text, &g.Key.Public) })
				}
				both.Wait()
				if (errs[0] == nil) == (errs[1] == nil) || code(errors.Join(errs...)) != paddock.Conflict {
					t.Errorf("%v, %v", errs[0], errs[1])
				}
			})
		}
	}
	all.Wait()
	if d := desks[0]; !d.Reaches(&givers[0].Key.Public) || !d.Reaches(&givers[1].Key.Public) || d.Reaches(&giver(t).Key.Public) {
		t.Error("who is reached")
	}
	o, _ := ordered(t, givers[0].Key)
	if err := desks[0].First(t.Context(), o, []byte("no order"), &givers[0].Key.Public); code(err) != paddock.Forbidden {
		t.Error(err)
	}
	o, text := ordered(t, givers[0].Key)
	if err := desks[0].First(t.Context(), o, text, &givers[1].Key.Public); code(err) != paddock.Forbidden { // who didn't sign it
		t.Error(err)
	}
}

// Who has the key and gives something else than the warrant of this order, for this process of
// this worker, has given none.
func TestWhatIsNoWarrant(t *testing.T) {
	t.Parallel()
	g := giver(t)
	d := asking.NewDesk("w1", &g.Key.Public)
	s, signer := d.Session(), order.Signer(&g.Key.Public)
	defer s.End()
	known, err := s.Answer(t.Context(), asking.Question{Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	proof, err := g.Giver.Show("w1", known.Asker)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // an answer that isn't waited for
	give := func(text []byte, run paddock.RunID, worker, asker string) []byte {
		t.Helper()
		w, err := g.Giver.Give(text, run, worker, asker)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for what, c := range map[string]struct {
		warrant func(o order.Order, text []byte) []byte
		good    bool
	}{
		"nothing":         {func(order.Order, []byte) []byte { return nil }, false},
		"no warrant":      {func(order.Order, []byte) []byte { return []byte("{}") }, false},
		"the order":       {func(_ order.Order, text []byte) []byte { return text }, false},
		"another worker":  {func(o order.Order, text []byte) []byte { return give(text, o.Run, "w2", known.Asker) }, false},
		"another process": {func(o order.Order, text []byte) []byte { return give(text, o.Run, "w1", "another") }, false},
		"another order": {func(order.Order, []byte) []byte {
			other, text := ordered(t, g.Key)
			return give(text, other.Run, "w1", known.Asker)
		}, false},
		"the warrant": {func(o order.Order, text []byte) []byte { return give(text, o.Run, "w1", known.Asker) }, true},
	} {
		o, text := ordered(t, g.Key)
		got := make(chan error, 1)
		go func() { got <- d.First(t.Context(), o, text, &g.Key.Public) }()
		wants, err := s.Answer(t.Context(), asking.Question{Signer: signer, Proof: proof})
		if err != nil || len(wants.Wants) != 1 || wants.Wants[0].Run != o.Run {
			t.Fatalf("%s: %+v, %v", what, wants, err)
		}
		if _, err := s.Answer(over, asking.Question{Signer: signer, Proof: proof, Given: []asking.Given{{Run: o.Run, Warrant: c.warrant(o, text)}}}); err != nil {
			t.Error(err)
		}
		if err := <-got; (err == nil) != c.good || !c.good && !errors.Is(err, warrant.ErrNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A warrant whose connection breaks is got over the next one; as long as there is none its
// signer isn't reached.
func TestWarrantsOverBrokenConnections(t *testing.T) {
	t.Parallel()
	hub := NewHub(t.Context(), guard)
	t.Cleanup(hub.Close)
	g := giver(t)
	hub.Gives(g)
	d := asking.NewDesk("w1", &g.Key.Public)
	end := work(t, Config{Server: server(t, hub).URL, Token: "w1", House: newHouse(), Desk: d})
	for range 5 {
		o, text := ordered(t, g.Key)
		got := make(chan error, 1)
		go func() { got <- d.First(t.Context(), o, text, &g.Key.Public) }()
		var l *wire.Link
		until(t, hub, func() bool { hub.mu.Lock(); defer hub.mu.Unlock(); l = hub.links["w1"]; return l != nil })
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	end()
	if d.Reaches(&g.Key.Public) {
		t.Error("it is reached without a connection")
	}
}

// What no server of ours asks is refused, before anything is noted of it.
func TestStrangeQuestionsForWants(t *testing.T) {
	t.Parallel()
	d := asking.NewDesk("w1")
	s := d.Session()
	defer s.End()
	good := order.SignedBy + strings.Repeat("0", 16)
	for _, q := range []asking.Question{
		{}, {Signer: "signed-by-"}, {Signer: good + "0"}, {Signer: order.SignedBy + strings.Repeat("\x00", 16)}, {Signer: order.SignedBy + strings.Repeat("G", 16)},
		{Signer: strings.Repeat("x", 1<<16)}, {Signer: good, Given: make([]asking.Given, 33)},
	} {
		if w, err := s.Answer(t.Context(), q); code(err) != paddock.InvalidRequest || w.Asker != "" {
			t.Errorf("%+v, %v", w, err)
		}
	}
	if _, err := (*asking.Desk)(nil).Session().Answer(t.Context(), asking.Question{Signer: good}); code(err) != paddock.InvalidRequest {
		t.Error(err)
	}
}

// A server that says it has another's key is told nothing, reaches nobody, and can't say in
// the other's place that an order isn't for this worker; nor can one whose key isn't
// followed, or that shows what was made for another worker or process.
func TestAPretendedSigner(t *testing.T) {
	t.Parallel()
	real, other := giver(t), giver(t)
	d := asking.NewDesk("w1", &real.Key.Public)
	show := func(g *asking.Giver, worker, asker string) []byte {
		text, err := g.Show(worker, asker)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	o, text := ordered(t, real.Key)
	got := make(chan error, 1)
	go func() { got <- d.First(t.Context(), o, text, &real.Key.Public) }()
	signer := order.Signer(&real.Key.Public)
	w, err := d.Session().Answer(t.Context(), asking.Question{Signer: signer})
	if err != nil || w.Asker == "" || len(w.Wants) != 0 {
		t.Errorf("who has shown nothing is told %+v, %v", w, err)
	}
	asker := w.Asker
	refused := []asking.Given{{Run: o.Run, Refusal: paddock.Refused(paddock.Conflict, "no")}}
	warranted, err := real.Give(text, o.Run, "w1", asker) // signed by the key, and something else
	if err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]asking.Question{
		"nothing":         {Signer: signer, Given: refused},
		"another key":     {Signer: signer, Proof: show(other, "w1", asker), Given: refused},
		"its own key":     {Signer: order.Signer(&other.Key.Public), Proof: show(other, "w1", asker), Given: refused},
		"another worker":  {Signer: signer, Proof: show(real, "w2", asker), Given: refused},
		"another process": {Signer: signer, Proof: show(real, "w1", "x"), Given: refused},
		"an order":        {Signer: signer, Proof: text, Given: refused},
		"a warrant":       {Signer: signer, Proof: warranted, Given: refused},
		"no envelope":     {Signer: signer, Proof: []byte("\x00\xff"), Given: refused},
	} {
		s := d.Session()
		for range 8 {
			if w, err = s.Answer(t.Context(), q); err != nil {
				break
			}
		}
		if code(err) != paddock.Forbidden || len(w.Wants) != 0 || d.Reaches(&real.Key.Public) || d.Reaches(&other.Key.Public) {
			t.Errorf("%s: %+v, %v", what, w, err)
		}
		s.End()
	}
	s := d.Session()
	q := asking.Question{Signer: signer, Proof: show(real, "w1", asker)}
	w, err = s.Answer(t.Context(), q)
	if err != nil || len(w.Wants) != 1 || w.Wants[0].Run != o.Run || !d.Reaches(&real.Key.Public) {
		t.Errorf("%+v, %v", w, err)
	}
	q.Given = []asking.Given{{Run: o.Run, Warrant: warranted}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Answer(ctx, q); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	s.End()
}

// A worker that answers at once and wants nothing that it may have doesn't keep a server busy.
func TestAWorkerThatOnlyAnswers(t *testing.T) {
	t.Parallel()
	g := giver(t)
	asked, paused := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	g.Pause = func(context.Context, time.Duration) {
		if paused++; paused == 10 {
			cancel()
		}
	}
	w := asking.Wants{Asker: "a"}
	for range 40 {
		w.Wants = append(w.Wants, asking.Want{Run: newID(t), Envelope: []byte("{")})
	}
	g.Serve(ctx, "w1", func(context.Context, asking.Question) (asking.Wants, error) { asked++; return w, nil })
	if asked > 100 || paused != 10 {
		t.Errorf("asked %d times, with %d pauses", asked, paused)
	}
	asked = 0
	g.Serve(t.Context(), "w1", func(context.Context, asking.Question) (asking.Wants, error) { asked++; return asking.Wants{}, nil })
	if asked != 1 {
		t.Errorf("one that doesn't say who it is was asked %d times", asked)
	}
}

// A statement is made by the machine that carried a run out, about runs that servers may
// ask about, for who may see them.
func TestStatements(t *testing.T) {
	t.Parallel()
	run := paddock.Run{ID: newID(t), State: paddock.Exited, Principal: ann}
	own := paddock.Run{ID: newID(t), State: paddock.Exited, Principal: paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=0"}}
	hub := NewHub(t.Context(), guard)
	t.Cleanup(hub.Close)
	s := server(t, hub)
	made := func(_ context.Context, id paddock.RunID) (sign.Envelope, error) {
		return sign.Envelope{PayloadType: sign.PayloadType, Payload: string(id)}, nil
	}
	work(t, Config{Server: s.URL, Token: "w1", House: newHouse(run, own), Attest: made})
	work(t, Config{Server: s.URL, Token: "w2", House: newHouse(run)})
	ask := func(worker string, p paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
		return hub.At(worker).(interface {
			Attest(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error)
		}).Attest(t.Context(), p, id)
	}
	for _, p := range []paddock.Principal{ann, admin} {
		if e, err := ask("w1", p, run.ID); err != nil || e.Payload != string(run.ID) {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if _, err := ask("w1", bob, run.ID); code(err) != paddock.NotFound {
		t.Error(err)
	}
	if _, err := ask("w1", admin, own.ID); code(err) != paddock.NotFound {
		t.Error("the machine's own operator's run:", err)
	}
	if _, err := ask("w2", ann, run.ID); code(err) != paddock.Conflict {
		t.Error("of a worker that makes none:", err)
	}
}
