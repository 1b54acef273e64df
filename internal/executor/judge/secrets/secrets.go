// Package secrets knows the secrets of a policy for one judgement: it reads the files
// that hold them, and takes what programs say whom somebody else asks.
//
// A file is believed as a policy is: it and all on the way to it belong to root
// or to the user that runs Paddock, and nobody else may change them. Beside that
// nobody but its owner may read it.
//
// # Limits
//
// Values are kept for one judgement and not wiped from memory. No error of this
// package says anything of a value.
package secrets

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"paddock"
	"paddock/internal/egress/credential"
	"paddock/internal/policy/known/secret"
	"paddock/internal/redact"
	"paddock/internal/trust"
)

const (
	// mostValue is longer than any token, and what a header can carry.
	mostValue = 8 << 10
	mostCA    = 1 << 20
)

// Given reads the secret of g. What it can't read is told by the facts; an error is
// our own fault.
func Given(owner trust.Owner, g paddock.Given) (string, secret.Facts, error) {
	value, trimmed, err := value(owner, g.File)
	if trust.Fault(err) {
		return "", secret.Facts{}, err
	}
	if err != nil {
		return "", secret.Facts{Problem: err.Error()}, nil //nolint:nilerr // the facts tell
	}
	value, facts := given(g.File, value, trimmed)
	return value, facts, nil
}

// given is the value that a variable gets, which from says.
func given(from, value string, trimmed bool) (string, secret.Facts) {
	if strings.Contains(value, "\x00") || !utf8.ValidString(value) {
		return "", secret.Facts{Problem: from + " holds something that a variable can't carry: a NUL byte, or what isn't UTF-8"}
	}
	return value, secret.Facts{Found: true, Trimmed: trimmed, Short: len(value) < redact.MinValue, Digests: secret.Digests("", value)}
}

// Read reads the secret of i. What it can't read is told by the facts; an error is
// our own fault.
func Read(owner trust.Owner, i paddock.Injection) (credential.Credential, secret.Facts, error) {
	value, trimmed, err := value(owner, i.File)
	if trust.Fault(err) {
		return credential.Credential{}, secret.Facts{}, err
	}
	if err != nil {
		return credential.Credential{}, secret.Facts{Problem: err.Error()}, nil //nolint:nilerr // the facts tell
	}
	return injected(owner, i, i.File, value, trimmed)
}

// injected is what requests carry of the value that from says.
func injected(owner trust.Owner, i paddock.Injection, from, value string, trimmed bool) (credential.Credential, secret.Facts, error) {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return credential.Credential{}, secret.Facts{Problem: from + " holds something that a header can't carry, such as a line break in the middle, a NUL byte or letters beyond ASCII"}, nil
	}
	c := credential.Credential{Name: i.Secret, Place: i.Place, Header: i.Header, Value: i.Prefix + value}
	facts := secret.Facts{Found: true, Trimmed: trimmed, Digests: secret.Digests(i.Prefix, value)}
	if i.CA != "" {
		var err error
		if c.CA, err = certificates(owner, i.CA); trust.Fault(err) {
			return credential.Credential{}, secret.Facts{}, err
		} else if err != nil {
			facts.Problem = err.Error()
		}
	}
	return c, facts, nil
}

func value(owner trust.Owner, path string) (value string, trimmed bool, err error) {
	file, _, err := owner.Open(path)
	if err != nil {
		return "", false, problem(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", false, problem(path, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", false, fmt.Errorf("others than its owner may read %s (mode %04o); chmod 600 it", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, mostValue+2))
	if err != nil {
		return "", false, problem(path, err)
	}
	return within(path, text)
}

// within is the secret in text, which from says: all but the end of a line.
func within(from string, text []byte) (value string, trimmed bool, err error) {
	whole := len(text)
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return "", false, fmt.Errorf("%s is empty", from)
	case len(text) > mostValue:
		return "", false, fmt.Errorf("%s has more than %d bytes", from, mostValue)
	}
	return string(text), len(text) < whole, nil
}

func certificates(owner trust.Owner, path string) (string, error) {
	file, _, err := owner.Open(path)
	if err != nil {
		return "", problem(path, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostCA+1))
	switch {
	case err != nil:
		return "", problem(path, err)
	case len(text) > mostCA:
		return "", fmt.Errorf("%s has more than %d bytes", path, mostCA)
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		return "", fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return string(text), nil
}

// problem says which file can't be had and why.
func problem(path string, err error) error {
	var distrust trust.Distrust
	switch {
	case errors.As(err, &distrust):
		return distrust // it names the place
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no file %s", path)
	}
	return fmt.Errorf("%s can't be read: %w", path, err)
}
