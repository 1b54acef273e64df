// Package ledger is what a proxy decided, and reads what that was written down as: one
// JSON object a line.
//
// # Limits
//
// It knows no proxy, so that who only shows entries is linked with neither TLS nor HTTP.
//
// It is read whole. Who writes it bounds it; beyond what that may be, nothing is
// read.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// most is more than a supervisor writes.
const most = 2 << 20

// Read returns the entries of r. A last line that isn't whole, as a crash leaves
// it, is left out.
func Read(r io.Reader) (all []Entry, err error) {
	for lines := json.NewDecoder(io.LimitReader(r, most)); ; {
		var e Entry
		err := lines.Decode(&e)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("connections, after %d: %w", len(all), err)
		}
		all = append(all, e)
	}
}
