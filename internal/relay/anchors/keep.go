package anchors

import (
	"context"
	"crypto/rand"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/app/evidence/census/names"
	"paddock/internal/journal"
	"paddock/internal/journal/growth"
	"paddock/internal/journal/short/anchored"
	"paddock/internal/journal/sign"
)

// Name is the file in the state directory that has what is known.
const Name = names.Anchors

const mostFile = 16 << 20

// keep writes down what is new of a worker's journal.
func (k *Keeper) keep(ctx context.Context, worker string, before, w Worker) error {
	alarm := w.Problem != "" && w.Problem != before.Problem
	fits := w.Problem == "" && before.Problem != ""
	grown := w.Size > before.Size
	if tell := alarm || fits || grown && (before.Size == 0 || w.Asked.Sub(w.Written) >= Rest); tell {
		e := &anchored.Detail{
			Worker: worker, Journal: w.Journal, Size: w.Size, Hash: w.Hash, Key: w.Key, Note: w.Note,
			First: before.Size == 0 && w.Problem == "", Problem: w.Problem,
		}
		if err := k.Append(ctx, journal.Entry{Kind: journal.Anchored, Anchored: e}); err != nil {
			return err
		}
		w.Written = w.Asked
	}
	k.set(worker, w)
	if alarm {
		k.Warn(fmt.Errorf("ALARM: the journal of worker %.80s isn't what it was: %s", worker, w.Problem))
	}
	if !alarm && !fits && !grown {
		return nil
	}
	return k.write()
}

// A file is the form in which it is kept.
type file struct {
	Version int                `json:"version"`
	Workers map[string]*Worker `json:"workers"`
}

func (k *Keeper) write() error {
	k.mu.Lock()
	text, err := json.Marshal(file{1, k.known})
	k.mu.Unlock()
	if err != nil {
		return err
	}
	path := filepath.Join(k.State, Name)
	temp := filepath.Join(k.State, "tmp", Name+"-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|journal.Guarded, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}

// read reads what is known, all of which must be understood: what isn't would be an
// alarm less.
func read(state string) (map[string]*Worker, error) {
	path := filepath.Join(state, Name)
	f, err := journal.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*Worker{}, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	var known file
	if err = errors.Join(err, f.Close()); err == nil && len(text) > mostFile {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = jsonv2.Unmarshal(text, &known, jsonv2.RejectUnknownMembers(true))
	}
	if err == nil && known.Version != 1 {
		err = fmt.Errorf("its version is %d and not 1", known.Version)
	}
	for name, w := range known.Workers {
		if err == nil && w == nil {
			err = fmt.Errorf("worker %.80q: nothing is there", name)
		}
		if err == nil && w.Size > 0 {
			err = w.Valid()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which has what is known of workers' journals: %w; put it back from a backup, or remove it, and what workers tell next is believed", path, err)
	}
	if known.Workers == nil {
		known.Workers = map[string]*Worker{}
	}
	return known.Workers, nil
}

// Alarms is of how many workers the journals aren't what they were, as the server of
// this state directory knows.
func Alarms(state string) (n int) {
	known, err := read(state)
	if err != nil {
		return 1
	}
	for _, w := range known {
		if w.Problem != "" && !w.Gone {
			n++
		}
	}
	return n
}

// Teller returns what tells of the journal of the state directory, for [relay.Config].
func Teller(state string) func(ctx context.Context, from int64) (any, error) {
	dir := journal.Dir(state)
	return func(ctx context.Context, from int64) (any, error) {
		t, err := growth.Since(ctx, dir, from)
		if errors.Is(err, growth.ErrEmpty) {
			return nil, paddock.Refused(paddock.NotFound, "There is no entry yet.")
		}
		if err != nil {
			return nil, err
		}
		key, _, err := sign.LoadOrCreate(filepath.Join(dir, "key"))
		if err != nil {
			return nil, err
		}
		says, err := t.Statement()
		if err != nil {
			return nil, err
		}
		t.Key = key.Verifier()
		t.Note, err = key.Checkpoint(says)
		return t, err
	}
}
