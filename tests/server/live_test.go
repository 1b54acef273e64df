//go:build linux

package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
)

// How long it takes from a write in a program until who follows it has the event.
func TestWriteToEvent(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"))
	n, every := sized(2000, 5), sized(5, 1)
	run := s.start("clock", strconv.Itoa(n), strconv.Itoa(every))
	var took []float64
	rest := ""
	must(t, s.follow(t.Context(), run.ID, func(e event) error {
		now := time.Now().UnixNano()
		lines := strings.Split(rest+e.Content, "\n")
		for _, line := range lines[:len(lines)-1] {
			at, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				return err
			}
			took = append(took, milliseconds(time.Duration(now-at)))
		}
		rest = lines[len(lines)-1]
		return nil
	}))
	if len(took) != n {
		t.Fatalf("%d of %d lines", len(took), n)
	}
	tell(t, "write in the program to the event at its follower", took)
	s.wait(run.ID)
}

// Everybody who follows a run gets each of its bytes.
func TestFollowers(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"))
	n, lines := sized(*followers, 100), sized(1000, 200)
	gate := filepath.Join(t.TempDir(), "gate")
	run := s.start("pour", gate, strconv.Itoa(lines))
	// Each of them has a connection of its own, as a browser has.
	s.client.Transport = &http.Transport{DisableKeepAlives: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	var there, right atomic.Int64
	all, faults := make(chan bool), make(chan error, n)
	var digests sync.Map
	begun := time.Now()
	for range n {
		work.Go(func() {
			sum, known := sha256.New(), false
			err := s.follow(ctx, run.ID, func(e event) error {
				if !known {
					if known = true; there.Add(1) == int64(n) {
						close(all)
					}
				}
				return add(sum, e)
			})
			if err != nil {
				faults <- err
				cancel()
				return
			}
			digests.Store(hex.EncodeToString(sum.Sum(nil)), true)
			right.Add(1)
		})
	}
	select {
	case <-all:
	case <-ctx.Done():
	}
	connected := time.Since(begun)
	begun = time.Now()
	must(t, os.WriteFile(gate, nil, 0o600))
	work.Wait()
	close(faults)
	for err := range faults {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	o := s.wait(run.ID).Outcome
	digests.Range(func(got, _ any) bool {
		if want := o.Stdout.Digest.Hex(); got != want {
			t.Errorf("somebody has the digest %s, and the run %s", got, want)
		}
		return true
	})
	if *measure {
		t.Logf("%d followers of one run: all there after %s; %d had every byte of %d after %s", n, connected.Round(time.Millisecond), right.Load(), o.Stdout.Bytes, time.Since(begun).Round(time.Millisecond))
		keep(t, fmt.Sprintf("%d followers: seconds until all had %d bytes", n, o.Stdout.Bytes), []float64{time.Since(begun).Seconds()})
	}
}

// add adds the bytes of an event to a digest.
func add(sum hash.Hash, e event) error {
	text := []byte(e.Content)
	if e.Encoding == "base64" {
		var err error
		if text, err = base64.StdEncoding.DecodeString(e.Content); err != nil {
			return err
		}
	}
	sum.Write(text)
	return nil
}

// How long it takes from asking for a run until its program has started.
func TestAskedToStarted(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"))
	var answered, started []float64
	for range sized(300, 2) {
		begun := time.Now()
		run := s.start("true")
		answered = append(answered, milliseconds(time.Since(begun)))
		must(t, s.follow(t.Context(), run.ID, func(e event) error {
			if e.Kind == "state" && e.State == "started" {
				started = append(started, milliseconds(time.Since(begun)))
			}
			return nil
		}))
		s.wait(run.ID)
	}
	tell(t, "asked over HTTP to answered, durable", answered)
	tell(t, "asked over HTTP to the event that the program started", started)
}

// one is a run that is over, with some output.
func (s *stand) one() paddock.Run {
	s.t.Helper()
	gate := filepath.Join(s.t.TempDir(), "gate")
	must(s.t, os.WriteFile(gate, nil, 0o600))
	return s.wait(s.start("pour", gate, "500").ID)
}
