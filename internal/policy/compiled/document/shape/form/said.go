package form

import (
	"strconv"
	"strings"

	"paddock/internal/policy/compiled/document/shape"
)

// Said is how a value reads, whatever its layout.
func Said(v *shape.Value) string {
	var b strings.Builder
	say(&b, v)
	return b.String()
}

func say(b *strings.Builder, v *shape.Value) {
	if v == nil {
		return
	}
	b.WriteString(strconv.Quote(v.Text))
	for _, item := range v.Items() {
		b.WriteByte('[')
		say(b, item)
		b.WriteByte(']')
	}
	for _, e := range v.Pairs() {
		b.WriteByte('{')
		say(b, e.Key)
		b.WriteByte(':')
		say(b, e.Value)
		b.WriteByte('}')
	}
}
