package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/store"
)

// Labels are those of a worker that follows orders of these keys.
func Labels(own []string, keys []*sign.Public) []string {
	all := slices.Clone(own)
	for _, key := range keys {
		all = append(all, order.Signer(key))
	}
	return all
}

// WorkerOf is the id of the worker of a server with this key.
func WorkerOf(key *sign.Public) store.WorkerID {
	sum := sha256.Sum256(key.Raw())
	return store.WorkerID("s-" + hex.EncodeToString(sum[:12]))
}
