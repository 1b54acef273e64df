// Package keyboard has a person sit at the terminal of a run: what the program prints goes
// to the person's terminal, what is typed there goes to the program, and so does its size.
//
// # Limits
//
// What the program draws comes without what makes a terminal answer or act beyond its
// screen; package drawn says what that is. Whatever is typed goes to the program, ^C too,
// but for the two keys that leave.
package keyboard

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/attach"
	"paddock/internal/clean/drawn"
)

// A Seat is where somebody sits.
type Seat struct {
	Desk *desk.Desk
	Run  paddock.RunID
	// Offset is from where on in the output.
	Offset int64
	// Watch types nothing. Raw leaves nothing out of what the program draws.
	Watch, Raw bool
}

// Size is that of the person's terminal, or of one that programs expect where there is none.
func Size(d *desk.Desk) paddock.TerminalSize {
	for _, side := range []any{d.Out, d.In} {
		if f, ok := side.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
				return paddock.TerminalSize{Rows: min(rows, paddock.MostCells), Columns: min(columns, paddock.MostCells)}
			}
		}
	}
	return paddock.TerminalSize{Rows: 24, Columns: 80}
}

// Sit returns when the run is over and all that it printed is shown, or the person leaves:
// then the run goes on. Left says so. A signal leaves, too.
func (s Seat) Sit(ctx context.Context, v desk.Verbs) (left bool, err error) {
	signals, restore := s.Desk.Signals()
	defer restore()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	away := make(chan struct{})
	var leaving sync.Once
	goes := func() { leaving.Do(func() { close(away); leave() }) }
	go func() {
		select {
		case <-signals:
			goes()
		case <-ctx.Done():
		}
	}()
	if err := s.begun(ctx, v); err != nil {
		return gone(away, err)
	}
	var telling sync.WaitGroup
	defer func() { leave(); telling.Wait() }()
	a := attach.Attachment{Offset: s.Offset, Out: s.Desk.Out, Refused: s.refused(ctx, v, &telling), Piped: !s.person()}
	if s.Desk.Terminal && !s.Raw {
		a.Out = drawn.New(s.Desk.Out)
	}
	if !s.Watch {
		typed := make(chan paddock.Typing)
		a.Typed = typed
		back, err := s.raw()
		if err != nil {
			return false, err
		}
		defer back()
		go s.types(ctx, typed, goes)
	}
	err = v.Attach(ctx, s.Desk.Operator(), s.Run, a)
	if s.Desk.Terminal {
		_, _ = io.WriteString(s.Desk.Out, drawn.Reset) // a terminal that is gone needs none
	}
	return gone(away, err)
}

// endTime is how long a run may take to be settled when its program is over.
const endTime = 2 * time.Second

// refused tells the person what wasn't done, and why. Who runs what is over at once hears
// nothing of keys that came too late, and of many keys only once in a while.
func (s Seat) refused(ctx context.Context, v desk.Verbs, telling *sync.WaitGroup) func(error) {
	var busy atomic.Bool
	return func(why error) {
		if !busy.CompareAndSwap(false, true) {
			return
		}
		telling.Go(func() {
			defer busy.Store(false)
			r, err := v.Wait(ctx, s.Desk.Operator(), s.Run, endTime)
			if over := err == nil && r.State.Settled(); !over && ctx.Err() == nil {
				s.say(why.Error())
			}
		})
	}
}

// gone is what comes of sitting there: who left isn't told of what broke by that.
func gone(away <-chan struct{}, err error) (left bool, _ error) {
	select {
	case <-away:
		return true, nil
	default:
		return false, err
	}
}

// begun waits until there is a program, or won't be one.
func (s Seat) begun(ctx context.Context, v desk.Verbs) error {
	for {
		r, err := v.Status(ctx, s.Desk.Operator(), s.Run)
		if err != nil {
			return err
		}
		switch r.State {
		case paddock.Queued, paddock.Waiting, paddock.Starting:
			if _, err := v.Wait(ctx, s.Desk.Operator(), s.Run, paddock.MaxWait/100); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// raw has the person's terminal pass on every key. Back is to be called in any case.
func (s Seat) raw() (back func(), err error) {
	f, ok := s.Desk.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}, nil
	}
	state, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal can't be had pass on every key: %w", err)
	}
	return func() { _ = term.Restore(int(f.Fd()), state) }, nil // what else could be done?
}

// say tells the person something amid what the program draws.
func (s Seat) say(text string) {
	fmt.Fprintf(s.Desk.Err, "\r\n[paddock: %s]\r\n", desk.Plain(text))
}

// types has done what is typed, from taking the keyboard on.
func (s Seat) types(ctx context.Context, typed chan<- paddock.Typing, leave func()) {
	size := Size(s.Desk)
	t := paddock.Typing{Hand: rand.Text(), Take: true, Number: 1, Size: &size}
	send := func() bool {
		select {
		case typed <- t:
			t = paddock.Typing{Hand: t.Hand, Number: t.Number + 1}
			return true
		case <-ctx.Done():
			return false
		}
	}
	if !send() {
		return
	}
	keys, sizes := make(chan []byte), resized(ctx)
	go s.read(ctx, keys, leave)
	for {
		select {
		case <-ctx.Done():
			return
		case <-sizes:
			size := Size(s.Desk)
			t.Size = &size
		case b, more := <-keys:
			if t.Input = b; !more {
				if s.person() {
					return
				}
				keys, t.Input = nil, []byte{eof} // what was typed ahead is all
			}
		}
		if !send() {
			return
		}
	}
}

// eof is what a terminal takes for the end of the input, at the beginning of a line.
const eof = 'D' & 31

func (s Seat) person() bool {
	f, ok := s.Desk.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// read reads keys until there are no more, or until those that leave.
func (s Seat) read(ctx context.Context, keys chan<- []byte, leave func()) {
	defer close(keys)
	var l leaver
	buffer := make([]byte, paddock.MostTyped-1)
	for {
		n, err := s.Desk.In.Read(buffer)
		b, left := buffer[:n], false
		if s.person() {
			b, left = l.pass(b)
		}
		if len(b) > 0 {
			select {
			case keys <- append([]byte(nil), b...):
			case <-ctx.Done():
				return
			}
		}
		if left {
			leave()
		}
		if left || err != nil {
			return
		}
	}
}

// The keys that leave, one after the other.
const (
	leaveFirst  = 'P' & 31
	leaveSecond = 'Q' & 31
)

// A leaver finds the keys that leave. The first of them waits for the one after it.
type leaver struct{ first bool }

// pass returns what of b is for the program, and whether the person leaves.
func (l *leaver) pass(b []byte) (rest []byte, left bool) {
	for _, c := range b {
		switch {
		case l.first && c == leaveSecond:
			return rest, true
		case l.first:
			rest = append(rest, leaveFirst)
		}
		if l.first = c == leaveFirst; !l.first {
			rest = append(rest, c)
		}
	}
	return rest, false
}
