package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
)

// A Kind is what a word is for, by its beginning.
//
//	pdk_ + 43 characters of 256 random bits + 6 of a checksum      an API token
//
// The beginning and the checksum let scanners of secrets find a word that leaked,
// without asking us and with few mistakes; a checksum that is wrong is refused without
// asking the store. Only digests are kept. They are plain SHA-256, since what is
// random needs no slow function; the beginning of each word makes digests of one kind
// mean nothing for another.
type Kind string

// The kinds.
const (
	TokenWord      Kind = "pdk_" // an API token, in an Authorization header
	SessionWord    Kind = "pds_" // a session, in a cookie
	InvitationWord Kind = "pdi_" // an invitation, told by hand
	LinkWord       Kind = "pdl_" // a login link, in the fragment of its URL
	WorkerWord     Kind = "pdw_" // a worker, in the Authorization header by which it connects
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{TokenWord, SessionWord, InvitationWord, LinkWord, WorkerWord} }

const (
	bits     = 32 // bytes of randomness
	randomly = 43 // their characters
	checked  = 6  // characters of the checksum
	// WordLength is that of every word.
	WordLength = 4 + randomly + checked
	// shown is how much of a word is kept to recognize it by.
	shown = 4 + 4

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrMalformed is what is no word of the kind: something else, or mistyped.
var ErrMalformed = errors.New("this is no credential of ours, or it was cut or mistyped")

// NewWord makes a word of the kind. A nil random is crypto/rand.
func NewWord(kind Kind, random io.Reader) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	var secret [bits]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", fmt.Errorf("no randomness: %w", err)
	}
	body := string(kind) + encode(new(big.Int).SetBytes(secret[:]), randomly)
	return body + checksum(body), nil
}

// IsWord reports whether text is a word of the kind, by its form.
func IsWord(kind Kind, text string) bool {
	return len(text) == WordLength && strings.HasPrefix(text, string(kind)) &&
		strings.Trim(text[len(kind):], digits) == "" && checksum(text[:WordLength-checked]) == text[WordLength-checked:]
}

// DigestOf is what is kept of a word of the kind, and by what it is looked up.
func DigestOf(kind Kind, text string) ([32]byte, error) {
	if !IsWord(kind, text) {
		return [32]byte{}, ErrMalformed
	}
	return sha256.Sum256([]byte(text)), nil
}

// ShownOf is the beginning of a word, by which its owner recognizes it. What it leaves
// open are 232 bits.
func ShownOf(text string) string { return text[:min(len(text), shown)] }

func checksum(body string) string {
	return encode(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), checked)
}

func encode(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(int64(len(digits))), new(big.Int)
	for i := range out {
		n.DivMod(n, base, digit)
		out[width-1-i] = digits[digit.Int64()]
	}
	return string(out)
}
