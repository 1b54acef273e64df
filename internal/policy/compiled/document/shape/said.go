package shape

import (
	"strconv"
	"strings"
)

// Said is how a value reads, whatever its layout.
func (v *Value) Said() string {
	var b strings.Builder
	v.sayTo(&b)
	return b.String()
}

func (v *Value) sayTo(b *strings.Builder) {
	if v == nil {
		return
	}
	b.WriteString(strconv.Quote(v.Text))
	for _, item := range v.Items() {
		b.WriteByte('[')
		item.sayTo(b)
		b.WriteByte(']')
	}
	for _, e := range v.Pairs() {
		b.WriteByte('{')
		e.Key.sayTo(b)
		b.WriteByte(':')
		e.Value.sayTo(b)
		b.WriteByte('}')
	}
}
