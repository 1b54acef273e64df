// Package links is the index of a state directory: the hard links by which runs
// are found without being looked for. Each is to the run's claim.json, so it
// appears whole or not at all and says which run it is of.
//
//	STATE/active/r…       an entry per run that isn't known to be settled
//	STATE/unseen/HASH/r…  an entry per run whose end its owner hasn't read
//	STATE/keys/HASH       idempotency keys
//
// When the owner has read the end, the entry in unseen becomes the run's file
// seen. So everything that the index says is said by the runs too, and it can be
// made again from them.
//
// # Limits
//
// It keeps no order among those who use it: they hold the claim. It doesn't know
// where runs are.
package links

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// The directories of the index, below the state directory.
const (
	ActiveDir = "active"
	UnseenDir = "unseen"
	KeysDir   = "keys"
)

// Claim is the file of a run to which the links are; Seen is what a run has whose
// end its owner has read.
const (
	Claim = "claim.json"
	// Lock is the lock of who changes what leads to runs, in the state directory.
	Lock = "claim.lock"
	Seen = "seen"
)

// An Entry is what claim.json, and the links to it, say of a run.
type Entry struct {
	Version   int           `json:"version"`
	ID        paddock.RunID `json:"id"`
	Principal string        `json:"principal"` // its hash
	// For is the hash of whom a delegate works for; empty for others.
	For           string         `json:"for,omitempty"`
	RequestDigest paddock.Digest `json:"request_digest"`
}

// EntryOf is that of a run which p asks for.
func EntryOf(version int, id paddock.RunID, p paddock.Principal, request paddock.Digest) Entry {
	e := Entry{Version: version, ID: id, Principal: Hash(p), RequestDigest: request}
	if root := p.Root(); root != p {
		e.For = Hash(root)
	}
	return e
}

// FileVersion implements durable.Versioned.
func (f *Entry) FileVersion() int { return f.Version }

// Read reads the entry at path.
func Read(path string) (e Entry, err error) { return e, durable.ReadJSON(path, &e) }

// Hash names a principal in file names and entries.
func Hash(p paddock.Principal) string { return durable.HashOf(string(p.Kind), p.ID) }

// IsOwner reports whether a word can be what [Hash] returns.
func IsOwner(principal string) bool {
	return len(principal) == 64 && strings.Trim(principal, "0123456789abcdef") == ""
}

// An Index is that of the state directory State.
type Index struct{ State string }

// Active is where the entry of a run is that isn't settled.
func (x Index) Active(id paddock.RunID) string { return filepath.Join(x.State, ActiveDir, string(id)) }

// Owned is the directory of a principal's runs whose end it hasn't read.
func (x Index) Owned(principal string) string { return filepath.Join(x.State, UnseenDir, principal) }

// Unseen is where the entry of such a run is.
func (x Index) Unseen(principal string, id paddock.RunID) string {
	return filepath.Join(x.Owned(principal), string(id))
}

// Key is where the entry of an idempotency key is.
func (x Index) Key(principal, key string) string {
	return filepath.Join(x.State, KeysDir, durable.HashOf(principal, key))
}

// DropOrphan removes the entries of a run that never appeared, the active one
// last, because it leads to the other.
func (x Index) DropOrphan(id paddock.RunID, principal string) error {
	if IsOwner(principal) {
		if err := durable.Remove(x.Unseen(principal, id)); err != nil {
			return err
		}
	}
	return durable.Remove(x.Active(id))
}

// Link makes name lead to the run in dir; that it does already is fine. Another
// file there is an error, and fs.ErrExist.
func Link(dir, name string) error {
	claim := filepath.Join(dir, Claim)
	err := os.Link(claim, name)
	if errors.Is(err, fs.ErrExist) {
		if same, statErr := Leads(name, dir); same || statErr != nil {
			return statErr
		}
	}
	return err
}

// Leads says whether name is a link to the claim of the run in dir.
func Leads(name, dir string) (bool, error) {
	there, err := os.Lstat(name)
	if err != nil {
		return false, err
	}
	claim, err := os.Lstat(filepath.Join(dir, Claim))
	if err != nil {
		return false, durable.IgnoreMissing(err)
	}
	return os.SameFile(there, claim), nil
}

// Relink makes the owner's entry of the run in dir again, unless the end was read.
func (x Index) Relink(principal string, id paddock.RunID, dir string) error {
	if !IsOwner(principal) {
		return fmt.Errorf("%q isn't the name of a principal", principal)
	}
	if seen, err := durable.Exists(filepath.Join(dir, Seen)); err != nil || seen {
		return err
	}
	if err := durable.MakeDir(x.Owned(principal)); err != nil {
		return err
	}
	err := Link(dir, x.Unseen(principal, id))
	if errors.Is(err, fs.ErrNotExist) { // the run has lost its own
		err = durable.IgnoreMissing(os.Link(x.Active(id), x.Unseen(principal, id)))
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // something else is there, which a check tells of
	}
	return err
}

// MarkSeen notes that the principal has read the end of the run in dir. Where it
// was noted, or the run isn't the principal's, nothing changes.
func (x Index) MarkSeen(principal string, id paddock.RunID, dir string) error {
	name, seen := x.Unseen(principal, id), filepath.Join(dir, Seen)
	err := os.Rename(name, seen)
	if err == nil {
		return durable.Remove(name) // two names of one file: renaming did nothing
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there, err := durable.Exists(seen); err != nil || there {
		return err
	}
	// Not the principal's, or the index has lost it.
	e, err := Read(filepath.Join(dir, Claim))
	if err != nil || e.Principal != principal {
		return nil //nolint:nilerr // whose claim can't be read has no owner who could be told again
	}
	if err := Link(dir, seen); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// FreeKey removes the key at name if its run doesn't exist any more, by what there
// says, and refuses one whose run does.
func FreeKey(name string, there func(paddock.RunID) (bool, error)) error {
	e, err := Read(name)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	if _, err := paddock.ParseRunID(string(e.ID)); err != nil {
		return fmt.Errorf("%s names no run", name)
	}
	is, err := there(e.ID)
	if err != nil {
		return err
	}
	if is {
		return fmt.Errorf("the idempotency key belongs to run %s: %w", e.ID, fs.ErrExist)
	}
	return durable.Remove(name)
}

// DropKey removes the idempotency key that leads to the run in dir, which never came to
// be among the others, or is none of them any more. A run that can't be read is one
// that wasn't written yet, when no key led to it, or damage, which a check tells of.
func (x Index) DropKey(dir string) error {
	e, err := Read(filepath.Join(dir, Claim))
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	text, err := durable.Read(filepath.Join(dir, "request.json"), durable.MaxJSON)
	var asked struct {
		Request struct {
			Key string `json:"idempotency_key"`
		} `json:"request"`
	}
	if err != nil || json.Unmarshal(text, &asked) != nil || asked.Request.Key == "" {
		return nil //nolint:nilerr // see above
	}
	name := x.Key(e.Principal, asked.Request.Key)
	if leads, err := Leads(name, dir); err != nil || !leads {
		return durable.IgnoreMissing(err)
	}
	return durable.Remove(name)
}

// MarkRead makes the file seen of all runs below the directory runs whose end was
// read before there was such a file: those that are settled and have no entry in
// unseen. A run that can't be read is left as it is.
func (x Index) MarkRead(runs string, settled func(dir string) (bool, error)) error {
	days, err := os.ReadDir(runs)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	for _, day := range days {
		ids, err := os.ReadDir(filepath.Join(runs, day.Name()))
		if err != nil {
			continue // not a day
		}
		for _, id := range ids {
			dir := filepath.Join(runs, day.Name(), id.Name())
			e, err := Read(filepath.Join(dir, Claim))
			if err != nil || string(e.ID) != id.Name() || !IsOwner(e.Principal) {
				continue
			}
			if over, err := settled(dir); err != nil || !over {
				continue
			}
			if unread, err := durable.Exists(x.Unseen(e.Principal, e.ID)); err != nil || unread {
				continue
			}
			if err := Link(dir, filepath.Join(dir, Seen)); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// Unread counts the principal's runs whose end it hasn't read: those that go on
// and those that are settled, by what stands says of each.
func (x Index) Unread(principal string, stands func(paddock.RunID) (there, settled bool, err error)) (running, finished int, err error) {
	entries, err := os.ReadDir(x.Owned(principal))
	if err != nil {
		return 0, 0, durable.IgnoreMissing(err)
	}
	for _, e := range entries {
		id, bad := paddock.ParseRunID(e.Name())
		if bad != nil {
			continue
		}
		there, settled, err := stands(id)
		switch {
		case err != nil:
			return 0, 0, err
		case settled:
			finished++
		case there:
			running++
		}
	}
	return running, finished, nil
}
