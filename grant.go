package paddock

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Granted is what a decision gives: a [Grant], or nothing. It is written as the grant,
// and may be made when it is first asked for, since many a decision is only shown. The
// zero Granted is nothing.
type Granted struct{ by Granting }

// A Granting has a grant, and says the same one each time.
type Granting interface{ Grant() *Grant }

// Grant says that a grant grants itself.
func (g *Grant) Grant() *Grant { return g }

// Gives is what gives g; nothing where that is nil.
func Gives(g *Grant) Granted {
	if g == nil {
		return Granted{}
	}
	return Granted{g}
}

// GivenBy is what by grants, asked when somebody wants to know.
func GivenBy(by Granting) Granted { return Granted{by} }

// IsZero says whether it is nothing.
func (g Granted) IsZero() bool { return g.by == nil }

// Equal says whether b gives the same.
func (g Granted) Equal(b Granted) bool {
	return reflect.DeepEqual(Decision{Granted: g}.Grant(), Decision{Granted: b}.Grant())
}

// MarshalJSON writes the grant, and null for none.
func (g Granted) MarshalJSON() ([]byte, error) {
	if g.by == nil {
		return []byte("null"), nil
	}
	return plainly(g.by.Grant())
}

// plainly is as json.Marshal, and leaves it to who asked whether < and > are escaped.
func plainly(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Granted) UnmarshalJSON(text []byte) error {
	var read *Grant
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*g = Gives(read)
	return nil
}

// Grant is what an allowed command gets; nil unless the effect is Allow. It is the same
// for whoever has the decision: to change it is to change theirs.
func (d Decision) Grant() *Grant {
	if d.Granted.by == nil {
		return nil
	}
	return d.Granted.by.Grant()
}
