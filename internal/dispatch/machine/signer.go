package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"paddock/internal/journal/sign"
)

// SignedBy begins the label of a worker that follows orders of a key. What a key signed
// needs it, so that no worker takes what it couldn't follow.
const SignedBy = "signed-by-"

// Signer is that label.
func Signer(key *sign.Public) string {
	sum := sha256.Sum256(key.Raw())
	return SignedBy + hex.EncodeToString(sum[:8])
}

// Labels are those of a worker that follows orders of these keys.
func Labels(own []string, keys []*sign.Public) []string {
	all := slices.Clone(own)
	for _, key := range keys {
		all = append(all, Signer(key))
	}
	return all
}
