package lookup

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/trust"
)

// A proposal is a workspace's own file and how it stands.
type proposal struct {
	Found
	changed bool
	since   string
}

// A Trust is what was written down when a workspace's file was trusted.
type Trust struct {
	Path   string         `json:"path"`
	Digest paddock.Digest `json:"digest"`
	At     time.Time      `json:"trusted_at"`
}

// workspace looks for the nearest paddock.yaml upwards whose exact content was
// trusted. Who may write to it doesn't matter: the content is what is trusted,
// and the bytes compared are the bytes used. Others are passed over, so that
// whoever works in the workspace can't hide the operator's file behind one of
// their own; but one that has changed since it was trusted ends the search, or
// changing it would choose the policy further down the list. The proposal
// returned without being found is the nearest.
func (p Places) workspace() (proposal, bool, error) {
	var nearest proposal
	if p.Dir == "" {
		return nearest, false, nil
	}
	for dir := range upwards(RealPath(p.Dir)) {
		path := filepath.Join(dir, WorkspaceFile)
		if !exists(path) {
			continue
		}
		found := proposal{Found: Found{Path: path, Kind: ByTrust, Project: dir}}
		trust, err := p.Trusted(path)
		if err != nil {
			return found, false, p.noTrust(path, err)
		}
		if trust == nil {
			if nearest.Path == "" {
				nearest = found
			}
			continue
		}
		data, digest, err := ReadProposal(path)
		if err != nil {
			return found, false, invalid(path, err)
		}
		found.since = trust.At.Local().Format("2006-01-02 15:04")
		if digest != trust.Digest {
			found.changed = true
			return found, false, p.nothing(found)
		}
		found.data, found.Why = data, "the workspace's own, trusted on "+found.since
		return found, true, nil
	}
	return nearest, false, nil
}

// noTrust is the refusal when what was written down about a workspace's file
// can't be read or believed.
func (p Places) noTrust(path string, err error) error {
	if trust.Fault(err) {
		return fmt.Errorf("%s: %w", p.trustFile(path), err)
	}
	r := paddock.Refused(paddock.PolicyInvalid, "What was written down about trusting %s can't be used: %s: %v.", path, p.trustFile(path), err)
	r.Hint = "An operator reads it and runs `paddock policy trust " + word(path) + "` again."
	return r
}

// trusted reports whether this content of the policy was trusted where it is.
func (p Places) trusted(found Found) bool {
	trust, err := p.Trusted(RealPath(found.Path))
	return err == nil && trust != nil && trust.Digest == paddock.DigestOf(sha256.Sum256(found.data))
}

// ReadProposal returns the content of a workspace's file and its digest.
func ReadProposal(path string) ([]byte, paddock.Digest, error) {
	// Without waiting: a pipe under this name would hold everybody up.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "", errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	data, err := bounded(file)
	if err != nil {
		return nil, "", err
	}
	return data, paddock.DigestOf(sha256.Sum256(data)), nil
}

// ReadAny returns the content of a file that is only looked at, whatever kind of
// file it is: a pipe is read too, and a device without an end only so far.
func ReadAny(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := bounded(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

func (p Places) trustFile(path string) string {
	return filepath.Join(p.Config, "trusted", nameOf(path)+".json")
}

// Trusted returns what was written down about the real path, nil if nothing was.
func (p Places) Trusted(path string) (*Trust, error) {
	if p.Config == "" || !exists(p.trustFile(path)) {
		return nil, nil
	}
	file, _, err := trust.User().Open(p.trustFile(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := bounded(file)
	if err != nil {
		return nil, err
	}
	var t Trust
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, err
	}
	if t.Path != path || t.Digest == "" {
		return nil, fmt.Errorf("it is about %q", t.Path)
	}
	return &t, nil
}

// Trust writes down that this content of the workspace's file counts.
func (p Places) Trust(t Trust) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return Publish(p.trustFile(t.Path), append(data, '\n'), true)
}

// Publish writes a file for its owner only, whole or not at all, in directories
// that are made for their owner only. Without replace an existing file gives
// [os.ErrExist].
func Publish(path string, data []byte, replace bool) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := trust.User().Dir(dir); err != nil {
		return fmt.Errorf("%s can't be used: %w", dir, err)
	}
	temp, err := os.CreateTemp(dir, ".new-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(temp.Name()); removed != nil && !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if replace {
		return os.Rename(temp.Name(), path)
	}
	return os.Link(temp.Name(), path)
}
