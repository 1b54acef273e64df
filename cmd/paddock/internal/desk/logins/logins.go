// Package logins keeps what lets the commands of a user in at servers: a file for each
// server, which nobody else can read.
//
//	CONFIG/logins/HASH.json    HASH is of the server's address
//
// # Limits
//
// Whoever can read the user's files has the tokens. Whether one is still good is the
// server's to say.
package logins

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/trust"
)

// mostFile bounds what is read.
const mostFile = 64 << 10

// A Login is what one server gave.
type Login struct {
	// Server is its address, as [Origin] has it.
	Server string `json:"server"`
	Name   string `json:"name"`
	Token  string `json:"token"`
	// ID is of the token, by which it can be revoked elsewhere.
	ID      string    `json:"id"`
	Expires time.Time `json:"expires_at"`
}

// Dir is where logins are; empty is nowhere, and has none.
type Dir string

// Origin is the address of a server in the one form in which it is kept.
func Origin(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // which no client asks
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

func (d Dir) path(server string) string {
	sum := sha256.Sum256([]byte(Origin(server)))
	return filepath.Join(string(d), hex.EncodeToString(sum[:16])+".json")
}

// Of returns the login at a server; the zero one where there is none.
func (d Dir) Of(server string) (l Login, err error) {
	if d == "" || server == "" {
		return l, nil
	}
	path := d.path(server)
	text, err := secret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if err := jsonv2.Unmarshal(text, &l, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Login{}, fmt.Errorf("%s: %w", path, err)
	}
	if l.Server != Origin(server) || l.Token == "" {
		return Login{}, fmt.Errorf("%s isn't what a login at %s left", path, Origin(server))
	}
	return l, nil
}

// secret reads a file that nobody else can read or change.
func secret(path string) ([]byte, error) {
	f, _, err := trust.User().Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.User().Closed(f); err != nil {
		return nil, fmt.Errorf("%s %w; chmod 600 it", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err == nil && len(text) > mostFile {
		err = fmt.Errorf("%s is too long", path)
	}
	return text, err
}

// Keep keeps a login, in place of an earlier one at the same server.
func (d Dir) Keep(l Login) error {
	if d == "" {
		return errors.New("there is no place where a login could be kept")
	}
	l.Server = Origin(l.Server)
	text, err := json.Marshal(l)
	if err == nil {
		err = os.MkdirAll(string(d), 0o700)
	}
	if err != nil {
		return err
	}
	temp := filepath.Join(string(d), "."+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, d.path(l.Server))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}

// Forget removes the login at a server.
func (d Dir) Forget(server string) error { return os.Remove(d.path(server)) }

// Over is the refusal of a login that has ended by itself.
func Over(l Login) error {
	r := paddock.Refused(paddock.Unauthenticated, "The login at %s ended at %s.", l.Server, l.Expires.UTC().Format(time.RFC3339))
	r.Hint = "Log in again: paddock login --server " + l.Server + "."
	return r
}
