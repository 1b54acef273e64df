package paddock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// A RunID names one run: "r" and 26 characters of Crockford's base 32 in lower
// case. The first ten are milliseconds since 1970 (so ids sort by time), the
// rest 80 random bits (so ids can't be guessed). The zero RunID names nothing.
type RunID string

const (
	crockford   = "0123456789abcdefghjkmnpqrstvwxyz"
	runIDLength = 27
)

var errRunID = errors.New("not a run id: want \"r\" and 26 characters of 0-9 a-z without i l o u")

// NewRunID returns a fresh id for a run made at now. It fails only when random
// does; pass nil for the system's random source.
func NewRunID(now time.Time, random io.Reader) (RunID, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [16]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", fmt.Errorf("random source: %w", err)
	}
	// 128 bits in 26 digits of 5 bits: the first digit holds only three.
	var out [runIDLength]byte
	out[0] = 'r'
	var acc uint32
	bits := 2 // two leading zero bits make 130
	j := 1
	for _, c := range b {
		acc = acc<<8 | uint32(c)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[j] = crockford[acc>>bits&31]
			j++
		}
	}
	return RunID(out[:]), nil
}

// ParseRunID accepts exactly the form that [NewRunID] makes.
func ParseRunID(s string) (RunID, error) {
	if len(s) != runIDLength || s[0] != 'r' || s[1] > '7' {
		return "", errRunID
	}
	for i := 1; i < len(s); i++ {
		if strings.IndexByte(crockford, s[i]) < 0 {
			return "", errRunID
		}
	}
	return RunID(s), nil
}

// Time returns the millisecond in which the id was made, or the zero time when
// the id isn't valid.
func (id RunID) Time() time.Time {
	if _, err := ParseRunID(string(id)); err != nil {
		return time.Time{}
	}
	var ms uint64
	for i := 1; i <= 10; i++ {
		ms = ms<<5 | uint64(strings.IndexByte(crockford, id[i]))
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// A Digest is "sha256:" and 64 lower-case hexadecimal digits. The zero Digest
// stands for "not computed" and equals no content.
type Digest string

const digestPrefix = "sha256:"

// ParseDigest accepts the canonical form, and 64 bare hexadecimal digits as
// people paste them; both come back canonical.
func ParseDigest(s string) (Digest, error) {
	h := strings.TrimPrefix(s, digestPrefix)
	if b, err := hex.DecodeString(h); err != nil || len(b) != 32 {
		return "", errors.New("not a digest: want 64 hexadecimal digits, as sha256sum prints them")
	}
	return Digest(digestPrefix + strings.ToLower(h)), nil
}

// DigestOf makes a Digest of the 32 bytes of a SHA-256 sum.
func DigestOf(sum [32]byte) Digest {
	var text [len(digestPrefix) + 2*len(sum)]byte
	hex.Encode(text[copy(text[:], digestPrefix):], sum[:])
	return Digest(text[:])
}

// Hex returns the 64 digits without the prefix.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Short returns the first twelve digits, for people.
func (d Digest) Short() string {
	h := d.Hex()
	if len(h) > 12 {
		return h[:12]
	}
	return h
}
