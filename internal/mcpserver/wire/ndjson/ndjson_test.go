package ndjson

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestReadLines(t *testing.T) {
	t.Parallel()
	ten := strings.Repeat("x", 10)
	in := ten + "\n" + ten + "y\n\r\n  a\r\n" + ten + ten + "\nlast"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		out, quit := make(chan line), make(chan struct{})
		go readLines(r, 10, out, quit)
		var got []string
		for l := range out {
			if l.err != nil {
				got = append(got, l.err.Error())
				break
			}
			if l.long {
				got = append(got, "long")
				continue
			}
			got = append(got, string(l.data))
		}
		if want := []string{ten, "long", "", "a", "long", "last", "EOF"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A line without end is read in constant memory.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	r := io.MultiReader(strings.NewReader(`{"id":5,"x":"`), io.LimitReader(endless{}, 64<<20), strings.NewReader("\"}\nnext\n"))
	out, quit := make(chan line), make(chan struct{})
	defer close(quit)
	go readLines(r, 1<<20, out, quit)
	if l := <-out; !l.long || cap(l.data) != 0 || l.env.ID().Raw() != int64(5) {
		t.Errorf("long %t, %d bytes kept, id %v", l.long, cap(l.data), l.env.ID().Raw())
	}
	if l := <-out; string(l.data) != "next" {
		t.Errorf("then %q", l.data)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A client that sends and never reads stops being read.
func TestUnansweredCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, client := io.Pipe()
		gone := 0
		tr := &Transport{In: in, Out: discard{}, MaxLine: 1000, Log: slog.New(slog.DiscardHandler), Gone: func() { gone++ }}
		c, err := tr.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		go func() {
			for i := range 3000 {
				if _, err := fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
					return
				}
				sent++
			}
			client.Close()
		}()
		var calls []jsonrpc.ID
		end := make(chan error)
		go func() {
			for {
				msg, err := c.Read(t.Context())
				if err != nil {
					end <- err
					return
				}
				calls = append(calls, msg.(*jsonrpc.Request).ID)
			}
		}()
		synctest.Wait()
		if len(calls) != mostPending {
			t.Errorf("%d calls were taken", len(calls))
		}
		for answered := 0; answered < 3000; answered++ {
			if err := c.Write(t.Context(), &jsonrpc.Response{ID: calls[answered], Result: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := <-end; !errors.Is(err, io.EOF) || len(calls) != 3000 || gone != 1 {
			t.Errorf("end %v after %d calls, gone %d times", err, len(calls), gone)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The end of reading waits for answers, but not for ever.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		tr := &Transport{In: in, Out: discard{}, MaxLine: 1000, Log: slog.New(slog.DiscardHandler)}
		c, err := tr.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) || time.Since(began) != lastWords {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
