package hall

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"paddock"
)

// KeySize is the size of the key by which secrets are sealed that must be read again.
const KeySize = 32

// mostSealed is the longest sealed text that is looked at.
const mostSealed = 8 << 10

// ErrUnsealed is what wasn't sealed here for that purpose, or too long ago.
var ErrUnsealed = errors.New("it wasn't made here, or for something else, or too long ago")

// envelope is what is sealed: a value with its end.
type envelope[T any] struct {
	Until time.Time `json:"until,omitzero"` // zero means none
	Value T         `json:"value"`
}

// SealBytes encrypts what only servers with the key are to read again, for a purpose:
// for another one it can't be opened.
func (h *Hall) SealBytes(purpose string, plain []byte) ([]byte, error) {
	aead, err := h.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, []byte(purpose)), nil
}

// OpenBytes reads what SealBytes made.
func (h *Hall) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	aead, err := h.aead()
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(purpose))
	if err != nil {
		return nil, ErrUnsealed
	}
	return plain, nil
}

func (h *Hall) aead() (cipher.AEAD, error) {
	if len(h.Key) != KeySize {
		return nil, paddock.Refused(paddock.Conflict, "This server has no key to keep such secrets with, so it has no second factors and no other providers of identity.")
	}
	block, err := aes.NewCipher(h.Key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal makes text of a value that a client carries for us for some time, and can
// neither read nor change.
func Seal[T any](h *Hall, purpose string, value T, lasts time.Duration) (string, error) {
	plain, err := json.Marshal(envelope[T]{h.Clock().Add(lasts), value})
	if err != nil {
		return "", fmt.Errorf("sealing for %s: %w", purpose, err)
	}
	sealed, err := h.SealBytes("carried: "+purpose, plain)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// Open reads what Seal made, if it isn't too old.
func Open[T any](h *Hall, purpose, text string) (T, error) {
	var e envelope[T]
	if len(text) > mostSealed {
		return e.Value, ErrUnsealed
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return e.Value, ErrUnsealed
	}
	plain, err := h.OpenBytes("carried: "+purpose, sealed)
	if err != nil {
		return e.Value, err
	}
	if err := json.Unmarshal(plain, &e); err != nil || !h.Clock().Before(e.Until) {
		var none T
		return none, ErrUnsealed
	}
	return e.Value, nil
}

// NewKey makes a key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails: it ends the program instead
	return key
}
