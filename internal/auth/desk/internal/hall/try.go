package hall

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"paddock"
	"paddock/internal/auth/desk/internal/hall/password"
)

// From is where a request came from: what tries are counted by, and what people know
// their devices by.
type From struct {
	Address netip.Addr
	Device  string // what the client says it is
}

// key is what tries are counted by: of IPv6, a whole network is one household's.
func (f From) key() string {
	a := f.Address.Unmap().WithZone("")
	if a.Is6() {
		p, err := a.Prefix(64)
		if err == nil {
			return p.String()
		}
	}
	return a.String() // also "invalid IP": all of those are one
}

// Try counts a try by the name that is tried, whether anybody has it or not, and by
// the address that tries. Without a name, only by that.
func (h *Hall) Try(from From, name string) error {
	now := h.Clock()
	if wait, ok := h.byAddress.Take(now, from.key()); !ok {
		return limited(wait)
	}
	if name == "" {
		return nil
	}
	if wait, ok := h.byName.Take(now, name[:min(len(name), 64)]); !ok {
		return limited(wait)
	}
	return nil
}

// Forgive takes back a try that was right.
func (h *Hall) Forgive(from From, name string) {
	h.byAddress.Forgive(from.key())
	if name != "" {
		h.byName.Forgive(name[:min(len(name), 64)])
	}
}

// NewPassword hashes what may be a password of the user called name.
func (h *Hall) NewPassword(ctx context.Context, name, text string) (string, error) {
	if err := password.Check(text, name); err != nil {
		return "", paddock.Refused(paddock.InvalidRequest, "%v.", err)
	}
	hash, err := h.Hasher.Hash(ctx, text)
	if errors.Is(err, password.ErrBusy) {
		return "", limited(0)
	}
	return hash, err
}

// Matches says whether text is the password that hash was kept of, and whether to
// hash it anew.
func (h *Hall) Matches(ctx context.Context, hash, text string) (ok, anew bool, err error) {
	ok, anew, err = h.Hasher.Matches(ctx, hash, text)
	if errors.Is(err, password.ErrBusy) {
		err = limited(0)
	}
	return ok, anew, err
}

// Once reports whether the word wasn't shown to this server while it lasts. It remembers
// as much as the counts of tries do: rarely, a word that is new counts as shown.
func (h *Hall) Once(word string, lasts time.Duration) bool {
	_, ok := h.once.Take(h.Clock(), word)
	return ok && lasts <= onceFor
}
