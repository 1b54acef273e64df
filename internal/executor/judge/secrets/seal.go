package secrets

import (
	"maps"
	"os"
	"slices"

	"paddock/internal/egress/credential"
	"paddock/internal/redact"
)

// Seal returns what a supervisor must know of values: those of names, which the
// program gets, and all that its output must not show; nil if there are none.
func Seal(names []string, values map[string]string) (*os.File, error) {
	var known credential.Known
	for _, name := range names {
		known.Env = append(known.Env, name+"="+values[name])
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) >= redact.MinValue {
			known.Hide = append(known.Hide, values[name])
		}
	}
	if known.Env == nil && known.Hide == nil {
		return nil, nil
	}
	return credential.SealKnown(known)
}
