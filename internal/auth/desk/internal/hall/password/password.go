// Package password keeps passwords as argon2id hashes and compares them, in bounded
// memory and in the same time whether there is anything to compare with or not.
//
//	$argon2id$v=19$m=19456,t=2,p=1$salt$key
//
// What was hashed with other parameters than today's is still compared, within bounds:
// a hash comes from a database, and must not make us take all memory.
//
// # Limits
//
// It limits how many passwords are hashed at once, not how often somebody tries: package
// throttle. It knows no list of stolen passwords; that a password isn't one of a few
// thousand common ones is not asked, only its length and that it isn't the name.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Cost is what hashing takes.
type Cost struct {
	Memory uint32 // KiB
	Passes uint32
	Lanes  uint8
}

// Standard is the cost of new hashes.
var Standard = Cost{Memory: 19 << 10, Passes: 2, Lanes: 1}

// most is the cost past which a kept hash isn't compared.
var most = Cost{Memory: 256 << 10, Passes: 16, Lanes: 8}

const (
	saltBytes, keyBytes = 16, 32
	// Shortest and Longest bound a new password: in characters, and in bytes.
	Shortest, Longest = 12, 1 << 10
	mostHash          = 256
)

// ErrBusy means that too many passwords are being hashed: ask again soon.
var ErrBusy = errors.New("too many log in at the same time")

// A Hasher hashes some passwords at once; others wait, and more than that are turned
// away.
type Hasher struct {
	cost   Cost
	random io.Reader
	atOnce chan struct{}
	queue  chan struct{}
	// nobody is compared with where there is no hash.
	nobody kept
	hashed atomic.Uint64
}

// Hashed is how many passwords were hashed so far, for metrics.
func (h *Hasher) Hashed() uint64 { return h.hashed.Load() }

// New returns a Hasher of the cost that hashes at most atOnce passwords at the same
// time, while at most waiting more wait. A nil random is crypto/rand.
func New(cost Cost, atOnce, waiting int, random io.Reader) *Hasher {
	if random == nil {
		random = rand.Reader
	}
	return &Hasher{
		cost: cost, random: random, atOnce: make(chan struct{}, atOnce), queue: make(chan struct{}, atOnce+waiting),
		nobody: kept{Cost: cost, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)},
	}
}

// Hash returns what to keep of a password.
func (h *Hasher) Hash(ctx context.Context, text string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(h.random, salt); err != nil {
		return "", fmt.Errorf("no randomness: %w", err)
	}
	key, err := h.derive(ctx, text, kept{Cost: h.cost, salt: salt, key: make([]byte, keyBytes)})
	if err != nil {
		return "", err
	}
	enc := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.Memory, h.cost.Passes, h.cost.Lanes, enc(salt), enc(key)), nil
}

// Matches reports whether text is the password that hash was kept of, and whether the
// hash should be made anew since it has other parameters than today's. An empty hash
// matches nothing, and takes as long as one that doesn't match. A text that no password
// can be doesn't either: it is refused at once, whoever tries.
func (h *Hasher) Matches(ctx context.Context, hash, text string) (ok, anew bool, err error) {
	if len(text) > Longest {
		return false, false, nil
	}
	k := h.nobody
	if hash != "" {
		if k, err = parse(hash); err != nil {
			return false, false, err
		}
	}
	key, err := h.derive(ctx, text, k)
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(key, k.key) == 1 && hash != ""
	return ok, ok && (k.Cost != h.cost || len(k.salt) != saltBytes || len(k.key) != keyBytes), nil
}

// derive hashes text when it is its turn.
func (h *Hasher) derive(ctx context.Context, text string, k kept) ([]byte, error) {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return nil, ErrBusy
	}
	select {
	case h.atOnce <- struct{}{}:
		defer func() { <-h.atOnce }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both were ready
		return nil, err
	}
	h.hashed.Add(1)
	return argon2.IDKey(norm.NFC.Bytes([]byte(text)), k.salt, k.Passes, k.Memory, k.Lanes, uint32(len(k.key))), nil
}

// A kept hash, read.
type kept struct {
	Cost
	salt, key []byte
}

var form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\$argon2id\$v=19\$m=([1-9][0-9]{0,7}),t=([1-9][0-9]{0,3}),p=([1-9][0-9]{0,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$`)
})

// parse reads a hash. What is wrong with it isn't told in its own words.
func parse(hash string) (kept, error) {
	bad := errors.New("a password is kept in a form that can't be read")
	if len(hash) > mostHash {
		return kept{}, bad
	}
	m := form().FindStringSubmatch(hash)
	if m == nil {
		return kept{}, bad
	}
	var k kept
	var n [3]uint64
	for i := range n {
		n[i], _ = strconv.ParseUint(m[1+i], 10, 32) // digits, and few
	}
	var err1, err2 error
	k.salt, err1 = base64.RawStdEncoding.Strict().DecodeString(m[4])
	k.key, err2 = base64.RawStdEncoding.Strict().DecodeString(m[5])
	if err1 != nil || err2 != nil || len(k.salt) < 8 || len(k.key) < 16 ||
		n[0] > uint64(most.Memory) || n[1] > uint64(most.Passes) || n[2] > uint64(most.Lanes) || n[0] < 8*n[2] {
		return kept{}, bad
	}
	k.Cost = Cost{uint32(n[0]), uint32(n[1]), uint8(n[2])}
	return k, nil
}

// Check says what is wrong with text as a new password of the user called name, in a
// sentence for people; nil if nothing is.
func Check(text, name string) error {
	switch {
	case len(text) > Longest:
		return fmt.Errorf("a password has at most %d bytes", Longest)
	case !utf8.ValidString(text):
		return errors.New("a password is text: this isn't valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("a password has no control characters in it")
	}
	chars := map[rune]bool{}
	for _, r := range text {
		chars[r] = true
	}
	lower := strings.ToLower(text)
	switch {
	case utf8.RuneCountInString(text) < Shortest:
		return fmt.Errorf("a password has at least %d characters", Shortest)
	case len(chars) < 5:
		return errors.New("that password is too easy to guess: it has less than 5 different characters")
	case name != "" && strings.Contains(lower, name) && utf8.RuneCountInString(text)-len(name) < Shortest/2:
		return errors.New("that password is too easy to guess: it is hardly more than the name")
	}
	return nil
}
