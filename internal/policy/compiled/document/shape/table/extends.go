package table

import (
	"bytes"
	"path"

	"paddock/internal/policy/compiled/document/shape"
)

// Extended returns the path of the file that the policy in the file called name
// narrows; empty if there is none, or the text is too broken to tell.
func Extended(name string, data []byte) string {
	if !bytes.Contains(data, []byte("extends")) { // nearly always, and it is asked for each request
		return ""
	}
	value, _ := shape.Read(data, Policy)
	v := value.Get("extends")
	switch {
	case v == nil:
		return ""
	case path.IsAbs(v.Text):
		return path.Clean(v.Text)
	}
	return path.Join(path.Dir(name), v.Text)
}
