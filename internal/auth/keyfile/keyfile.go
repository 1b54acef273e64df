// Package keyfile keeps the key of a server, which lies in its state directory, and
// derives from it the one by which the server vouches for second factors.
//
// # Limits
//
// Who can read the file can do what the server does by it. All servers of one database
// have the same key, and so vouch with the same. Another key is another verifier: the
// policies that list the old one have to be changed.
package keyfile

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"paddock/internal/journal/sign"
	"paddock/internal/trust"
)

const (
	// Name is that of the file in the state directory.
	Name = "server.key"
	// Size is how many bytes the key has.
	Size = 32
)

// Fresh makes a key.
func Fresh() []byte {
	key := make([]byte, Size)
	rand.Read(key) // never fails
	return key
}

// Open reads the key at path, and makes it where there is none: whole, under another
// name, and put in its place without replacing one.
func Open(path string) ([]byte, error) {
	key, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), Name+".*")
	if err != nil {
		return nil, err
	}
	_, err = fresh.Write(Fresh())
	if err == nil {
		err = fresh.Sync()
	}
	err = errors.Join(err, fresh.Close())
	if err == nil {
		if err = os.Link(fresh.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil // another server was first
		}
	}
	if err := errors.Join(err, os.Remove(fresh.Name())); err != nil {
		return nil, err
	}
	return Read(path)
}

// Read reads the key at path.
func Read(path string) ([]byte, error) {
	key, err := Secret(path, Size)
	if err == nil && len(key) != Size {
		err = fmt.Errorf("%s isn't the key of a server: it has %d bytes and not %d", path, len(key), Size)
	}
	return key, err
}

// Secret reads a file that nobody else can read or change.
func Secret(path string, most int64) ([]byte, error) {
	f, _, err := trust.User().Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.User().Closed(f); err != nil {
		return nil, fmt.Errorf("%s %w; chmod 600 it", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is too long", path)
	}
	return data, err
}

// Verifier is the key by which the server whose key it is vouches for second factors.
func Verifier(key []byte) (*sign.Key, error) {
	if len(key) != Size {
		return nil, errors.New("it isn't the key of a server")
	}
	seed, err := hkdf.Key(sha256.New, key, nil, "paddock second factors v1", 32)
	if err != nil {
		return nil, err
	}
	return sign.FromSeed(seed)
}
