// Package totp computes one-time passwords by the time, as RFC 6238 says: 6 digits from
// a common secret and the number of half minutes, by HMAC-SHA-1, which is what every
// authenticator app can do.
//
// # Limits
//
// That a password isn't used twice is its caller's to see to: by the number of the step.
package totp

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the algorithm's; no collision helps against an HMAC
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	every  = 30 * time.Second
	digits = 6
	// SecretSize is that of a new secret, in bytes.
	SecretSize = 20
	// skew is how many steps the clocks may be apart.
	skew = 1
)

// Code is the password of a step.
func Code(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%0*d", digits, binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// Step is the number of the step at a time.
func Step(now time.Time) int64 { return now.Unix() / int64(every/time.Second) }

// Match returns the step whose password code is, of those around now. It takes the same
// time whichever it is, and if it is none.
func Match(secret []byte, code string, now time.Time) (step int64, ok bool) {
	for s := Step(now) - skew; s <= Step(now)+skew; s++ {
		if subtle.ConstantTimeCompare([]byte(Code(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// Text is the secret as people type it.
func Text(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// URI is what an authenticator app reads from a picture of it.
func URI(issuer, account string, secret []byte) string {
	// Some apps take a plus for itself, so spaces are %20.
	query := strings.ReplaceAll(url.Values{"secret": {Text(secret)}, "issuer": {issuer}}.Encode(), "+", "%20")
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) + "?" + query
}
