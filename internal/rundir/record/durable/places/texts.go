package places

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// Policies is where the texts of policies are, each once, by its digest. A run that
// was decided by one has a link to it, so a text that nothing but this directory has
// a name for is nobody's any more.
const Policies = "policies"

// policyName is the name of the text in a run's directory.
const policyName = "policy"

// mostText bounds what is read as a policy's text.
const mostText = 32 << 20

// KeepPolicy gives the run directory dir the text that it was decided by. The text is
// durable before it has a name, so whoever finds it waits for nothing, and the run has
// it as soon as its own directory is durable.
func (p Places) KeepPolicy(dir string, digest paddock.Digest, text []byte) error {
	if digest == "" {
		return nil
	}
	name, link := filepath.Join(p.State, Policies, digest.Hex()), filepath.Join(dir, policyName)
	for range 3 { // somebody may sweep it between the two
		err := os.Link(name, link)
		switch {
		case err == nil, errors.Is(err, fs.ErrExist):
			return nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EMLINK): // not there, or in all the names that a file can have
			err = durable.Replace(name, text)
		}
		if err != nil {
			return fmt.Errorf("keeping the policy: %w", err)
		}
	}
	return errors.New("keeping the policy: it is taken away again and again")
}

// PolicyOf returns the text that the run in the directory dir was decided by, of
// which digest is; the error is fs.ErrNotExist when it isn't there as it was.
func PolicyOf(dir string, digest paddock.Digest) ([]byte, error) {
	return read(filepath.Join(dir, policyName), digest)
}

// TextOf is PolicyOf for whatever the state directory keeps, by its digest.
func TextOf(state string, digest paddock.Digest) ([]byte, error) {
	return read(filepath.Join(state, Policies, digest.Hex()), digest)
}

func read(path string, digest paddock.Digest) ([]byte, error) {
	text, err := durable.Read(path, mostText)
	if err != nil {
		return nil, err
	}
	if paddock.DigestOf(sha256.Sum256(text)) != digest {
		return nil, fmt.Errorf("%w: it isn't what it was", fs.ErrNotExist)
	}
	return text, nil
}

// SweepPolicies removes texts that no run has had for an hour.
func (p Places) SweepPolicies(now time.Time) error {
	entries, err := os.ReadDir(filepath.Join(p.State, Policies))
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	var faults []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			faults = append(faults, durable.IgnoreMissing(err))
			continue
		}
		if links(info) == 1 && now.Sub(info.ModTime()) > time.Hour {
			faults = append(faults, durable.Remove(filepath.Join(p.State, Policies, e.Name())))
		}
	}
	return errors.Join(faults...)
}
