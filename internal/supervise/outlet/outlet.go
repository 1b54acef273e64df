//go:build linux

// Package outlet is the way out of a run whose network is an allowlist: a proxy
// in a process of its own beside the supervisor, which serves the socket that was
// made inside the run's network, and the supervisor's end of it, which writes
// down what the proxy decides.
//
// # Limits
//
// What is let through is decided by package egress, and where the socket comes
// from by package contain. The proxy isn't held by the run's walls but by those of
// [contain.Confine]: of its supervisor's rights it keeps the network, and the files
// by which names are looked up. If those are replaced while it runs, by others than
// a resolver of the system does, it resolves no more names.
package outlet

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/egress"
	"paddock/internal/spawn"
)

const (
	// FileName is where in the run's directory the proxy's entries are, one JSON
	// object a line.
	FileName = "network.jsonl"
	// maxFile bounds them; what comes after is counted.
	maxFile = 1 << 20
	// maxLine is longer than any entry: hosts and reasons are bounded.
	maxLine = 64 << 10
	// closing is how long the proxy may take to end its connections.
	closing = 3 * time.Second
	// most is how many places are told apart in the denials.
	most = 64
)

// orders are what the proxy is told; with them come the run's secrets, if it has
// any. The proxy then answers with what the run has to trust.
type orders struct {
	Rules []string `json:"rules"`
}

type answer struct {
	CA []byte `json:"ca"`
}

// A refusal is what was refused and where it was to go; without a place it was
// nothing that could be understood as one.
type refusal struct{ place, code string }

// An Outlet is the supervisor's end. The nil Outlet is that of a run which has no
// way out: it serves nothing and has nothing to tell.
type Outlet struct {
	stage  *spawn.Stage
	lines  *bufio.Scanner // what the proxy says
	ca     []byte
	file   *os.File
	failed func(error)
	hide   func(egress.Entry) egress.Entry
	done   chan struct{} // closed when the proxy is gone; nil until it serves

	// What follows belongs to the goroutine that listens, until done.
	size    int64
	dropped int64
	broken  error // the record can't be written
	early   bool  // the proxy ended before it was told to
	refused map[refusal]int64
	others  int64
}

// readying is how long a proxy with secrets may take to make its certificates.
const readying = 20 * time.Second

// Start starts the proxy of the run whose directory is dir, out of the supervisor
// binary self, and hands it the run's secrets, which may be nil. It lets nothing
// through before [Outlet.Serve].
func Start(self, dir string, rules []string, secrets *os.File) (*Outlet, error) {
	for _, rule := range rules {
		if _, err := egress.ParseRule(rule); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(orders{rules})
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	stage, err := spawn.StartProxy(self, os.Stderr)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	o := &Outlet{stage: stage, lines: bufio.NewScanner(stage.Conn()), file: file, refused: map[refusal]int64{}}
	o.lines.Buffer(nil, maxLine)
	if err := o.order(text, secrets); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// order tells the proxy what to do, and waits for its answer where there is one.
func (o *Outlet) order(text []byte, secrets *os.File) error {
	if secrets == nil {
		return control.SendJob(o.stage.Conn(), text, nil)
	}
	if err := control.SendJob(o.stage.Conn(), text, []*os.File{secrets}); err != nil {
		return err
	}
	if err := o.stage.Conn().SetReadDeadline(time.Now().Add(readying)); err != nil {
		return err
	}
	var a answer
	if !o.lines.Scan() || json.Unmarshal(o.lines.Bytes(), &a) != nil || len(a.CA) == 0 {
		return errors.New("the proxy can't use the run's secrets; supervisor.log says why")
	}
	o.ca = a.CA
	return o.stage.Conn().SetReadDeadline(time.Time{})
}

// CA returns the certificate that the run has to trust, in PEM; nil where the
// proxy ends no TLS.
func (o *Outlet) CA() []byte {
	if o == nil {
		return nil
	}
	return o.ca
}

// Serve hands the run's socket, which it closes, to the proxy. Failed is called
// when what the proxy decides can't be written down; what is, is passed through hide.
func (o *Outlet) Serve(socket *os.File, hide func(egress.Entry) egress.Entry, failed func(error)) error {
	if o == nil {
		return nil
	}
	if socket == nil {
		return errors.New("the run has no socket for it")
	}
	err := control.SendJob(o.stage.Conn(), nil, []*os.File{socket})
	if err := errors.Join(err, socket.Close()); err != nil {
		return err
	}
	o.hide, o.failed, o.done = hide, failed, make(chan struct{})
	go o.listen()
	return nil
}

// listen takes entries until the proxy is gone.
func (o *Outlet) listen() {
	defer close(o.done)
	lines := o.lines
	for lines.Scan() {
		var e egress.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			o.spoil(fmt.Errorf("the proxy said something else than an entry: %w", err))
			return
		}
		e = o.hide(e)
		o.count(e)
		line, err := json.Marshal(e)
		if err != nil {
			o.spoil(err)
			return
		}
		o.keep(append(line, '\n'))
	}
	// Any other end of the conversation is the proxy's own, and a proxy that isn't
	// there lets nothing through.
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		o.spoil(err)
	}
}

func (o *Outlet) spoil(err error) {
	if o.broken == nil {
		o.broken = err
		o.failed(err)
	}
}

// keep writes one line, while there is room.
func (o *Outlet) keep(line []byte) {
	if o.broken != nil || o.size+int64(len(line)) > maxFile {
		o.dropped++
		return
	}
	n, err := o.file.Write(line)
	o.size += int64(n)
	if err != nil {
		o.spoil(err)
	}
}

// count sums what was refused by where it was to go.
func (o *Outlet) count(e egress.Entry) {
	if e.Verdict != egress.Refused {
		return
	}
	where := refusal{code: e.Code}
	if e.Host != "" {
		where.place = net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
	}
	if _, known := o.refused[where]; !known && len(o.refused) >= most {
		o.others++
		return
	}
	o.refused[where]++
}

// Close ends the proxy and its connections, and returns what it refused, most
// often first. It is called when the run is gone.
func (o *Outlet) Close() []paddock.Denial {
	if o == nil {
		return nil
	}
	conn := o.stage.Conn()
	if o.done != nil {
		select {
		case <-o.done:
			o.early = true
		default:
		}
		// The proxy sees the end of our half, and ends with its last entries.
		_ = conn.CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(closing)) // sockets can have deadlines
		<-o.done
	}
	_ = conn.Close()       // nothing is written any more
	_ = o.stage.Kill()     // it has ended already, or doesn't answer
	_ = o.stage.Wait()     // its status says nothing that its entries don't
	_ = o.finish().Close() // every write was checked
	return o.denials()
}

// finish says in the last line what isn't in the lines before.
func (o *Outlet) finish() *os.File {
	if o.dropped == 0 || o.broken != nil {
		return o.file
	}
	line, err := json.Marshal(egress.Entry{
		At: time.Now(), Closed: true, Verdict: "dropped", Reason: fmt.Sprintf("%d further entries aren't kept", o.dropped),
	})
	if err == nil {
		_, err = o.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, FileName+":", err)
	}
	return o.file
}

func (o *Outlet) denials() []paddock.Denial {
	var all []paddock.Denial
	for where, n := range o.refused {
		text := "the run tried to reach " + where.place + "; the policy doesn't list it"
		switch {
		case where.place == "":
			text = "the run asked its proxy for something that isn't a host (" + where.code + ")"
		case where.code != egress.NotListed:
			text = "the run's connection to " + where.place + " was refused (" + where.code + ")"
		}
		all = append(all, paddock.Denial{Call: "network", Arguments: cmp.Or(where.place, where.code), Count: n, Text: text})
	}
	slices.SortFunc(all, func(a, b paddock.Denial) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Arguments, b.Arguments))
	})
	if o.others > 0 {
		all = append(all, paddock.Denial{Call: "network", Count: o.others, Text: "the run tried to reach many other places that the policy doesn't list"})
	}
	if o.early {
		all = append(all, paddock.Denial{Call: "network", Count: 1, Text: "the run's proxy ended before the run did; it reached nothing from then on"})
	}
	return all
}
