// Package sign signs checkpoints of a journal and statements about runs, with one
// ed25519 key, in forms that public tools check: signed notes and DSSE envelopes.
//
// # Limits
//
// It signs what it is given: whoever calls it has checked that before. A key
// that lies beside the journal proves nothing against who may read both.
package sign

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"paddock/internal/journal"
	"paddock/internal/trust"
)

// Name is the name that keys have in notes. Keys are told apart by what they are.
const Name = "paddock-journal"

// keyType is what a note's key says of itself.
const keyType = 1 // ed25519

const mostKey = 4 << 10

// A Key signs.
type Key struct {
	Public
	private ed25519.PrivateKey
	signer  note.Signer
}

// Create makes a key at path, owner-only, and its public part beside it. The
// error is fs.ErrExist when there is one.
func Create(path string) (*Key, error) {
	text, _, err := note.GenerateKey(rand.Reader, Name)
	if err != nil {
		return nil, err
	}
	key, err := parse(text)
	if err != nil {
		return nil, err
	}
	// The name appears with the whole content, so that two first users at once
	// have one key.
	temp := fmt.Sprintf("%s.new-%s", path, rand.Text())
	if err := write(temp, text+"\n", 0o600); err != nil {
		return nil, errors.Join(err, remove(temp))
	}
	if err := errors.Join(os.Link(temp, path), remove(temp)); err != nil {
		return nil, err
	}
	if err := remove(path + ".pub"); err != nil {
		return nil, err
	}
	return key, write(path+".pub", key.Verifier()+"\n", 0o644)
}

// Load reads the key at path. It must be its owner's alone.
func Load(path string) (*Key, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the key's path %q isn't absolute", path)
	}
	file, _, err := trust.User().Open(path)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may read it (mode %04o): make another, and let this one be trusted no more", info.Mode().Perm())
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, mostKey))
	}
	var key *Key
	if err == nil {
		key, err = parse(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", path, err)
	}
	return key, nil
}

// LoadOrCreate is Load, or Create where there is no key yet; made says which.
func LoadOrCreate(path string) (key *Key, made bool, err error) {
	key, err = Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key, err = Create(path)
	if errors.Is(err, fs.ErrExist) { // somebody else was first
		key, err = Load(path)
		return key, false, err
	}
	return key, err == nil, err
}

func parse(text string) (*Key, error) {
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errors.New("it isn't a signing key as paddock audit makes them")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.SplitN(text, "+", 5)[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize || raw[0] != keyType || signer.Name() != Name {
		return nil, errors.New("it isn't an ed25519 key of a journal")
	}
	return fromSeed(raw[1:], signer)
}

// FromSeed is the key whose private part is seed.
func FromSeed(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a key is made of %d bytes and not of %d", ed25519.SeedSize, len(seed))
	}
	return fromSeed(seed, nil)
}

// fromSeed is a key that signs notes by signer; with nil it signs envelopes alone.
func fromSeed(seed []byte, signer note.Signer) (*Key, error) {
	private := ed25519.NewKeyFromSeed(seed)
	public, err := PublicOf(private.Public().(ed25519.PublicKey)) //nolint:errcheck // of such a key it is one
	if err != nil {
		return nil, err
	}
	return &Key{*public, private, signer}, nil
}

// Checkpoint signs a statement and returns the signed note.
func (k *Key) Checkpoint(s journal.Statement) (string, error) {
	if k.signer == nil {
		return "", errors.New("this key signs envelopes alone")
	}
	signed, err := note.Sign(&note.Note{Text: s.Text()}, k.signer)
	return string(signed), err
}

// A Public key checks.
type Public struct {
	key      ed25519.PublicKey
	text     string // as notes have it
	verifier note.Verifier
}

// PublicOf is the public key that key is.
func PublicOf(key ed25519.PublicKey) (*Public, error) {
	text, err := note.NewEd25519VerifierKey(Name, key)
	if err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	return &Public{key, text, verifier}, nil
}

// ParsePublic reads a public key: the line that Verifier returns, or PEM.
func ParsePublic(text string) (*Public, error) {
	text = strings.TrimSpace(text)
	if block, _ := pem.Decode([]byte(text + "\n")); block != nil {
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		if key, ok := any.(ed25519.PublicKey); ok {
			return PublicOf(key)
		}
		return nil, errors.New("the public key isn't an ed25519 key")
	}
	if verifier, err := note.NewVerifier(text); err == nil && verifier.Name() == Name {
		raw, err := base64.StdEncoding.Strict().DecodeString(strings.SplitN(text, "+", 3)[2])
		if err == nil && len(raw) == 1+ed25519.PublicKeySize && raw[0] == keyType {
			return PublicOf(ed25519.PublicKey(raw[1:]))
		}
	}
	return nil, errors.New("it isn't a public key: want what paddock audit key prints")
}

// LoadPublic reads a public key from a file.
func LoadPublic(path string) (*Public, error) {
	file, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostKey))
	if err != nil {
		return nil, err
	}
	p, err := ParsePublic(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Raw is the key's 32 bytes.
func (p *Public) Raw() []byte { return append([]byte(nil), p.key...) }

// Verifier is the key as programs for signed notes take it.
func (p *Public) Verifier() string { return p.text }

// PEM is the key as most other programs take it.
func (p *Public) PEM() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(p.key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// ID names the key: the SHA-256 of its 32 bytes, in hexadecimal.
func (p *Public) ID() string {
	sum := sha256.Sum256(p.key)
	return hex.EncodeToString(sum[:])
}

// Open returns what a signed note says. The error is [journal.ErrUnknownKey] when
// the note isn't by this key; any other means that it is forged or damaged.
func (p *Public) Open(signed string) (journal.Statement, error) {
	opened, err := note.Open([]byte(signed), note.VerifierList(p.verifier))
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return journal.Statement{}, journal.ErrUnknownKey
	}
	if err != nil {
		return journal.Statement{}, err
	}
	// The note package reads base 64 generously: bits that mean nothing could
	// differ, and two texts would be the same checkpoint.
	for _, s := range opened.Sigs {
		if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
			return journal.Statement{}, errors.New("its signature isn't written as base 64 is")
		}
	}
	return journal.ParseStatement(opened.Text)
}

// write makes a durable file that must not exist.
func write(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|journal.Guarded, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Newest returns the checkpoint that was last signed for the journal at dir;
// empty when none was.
func Newest(dir string) (string, error) {
	file, err := journal.Open(filepath.Join(dir, "checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, mostKey))
	return string(text), errors.Join(err, file.Close())
}

// SetNewest keeps a checkpoint for Newest.
func SetNewest(dir, note string) error {
	temp := filepath.Join(dir, "checkpoint.new-"+rand.Text())
	if err := write(temp, note, 0o600); err != nil {
		return errors.Join(err, remove(temp))
	}
	return os.Rename(temp, filepath.Join(dir, "checkpoint"))
}
