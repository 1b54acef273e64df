package paddock

import (
	"encoding/binary"
	"encoding/json"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// Answers are what the gates said of one request, in the order of the gates. They are
// written as a list of [GateResult], and kept as what differs between requests, beside
// what is the same for all that go the same way through a policy: what is made for each
// decision is what the collector has to work for. They aren't changed, and what they are
// read as belongs to the reader. The zero Answers are none.
type Answers struct {
	form unique.Handle[form]
	// own has what fills the form's gaps: how long each is, and then all of them. Refused
	// is what the first gate said that refused: that is a string already.
	own, refused string
	// odd has all of them where they have no form: of a gate that this version doesn't
	// know, in a record of a later one.
	odd *[]GateResult
}

// A form is up to one answer of each gate, without what is the request's own. It has no
// holes between its fields, so that it is compared and hashed quickly.
type form struct {
	gaps   uint64 // the pieces that are the request's own, a bit for each
	marks  [gateCount]mark
	n      uint32
	pieces [maxPieces]string
	files  [maxFiles]string // of places
}

// A mark is one answer. What has the numbers of its gate and verdict, end is where its
// pieces end, file counts files from one.
type mark struct {
	line, column          uint32
	gate, what, end, file uint8
}

const (
	gateCount = 13
	maxPieces = 28
	maxFiles  = 3
	// refusedBit of what says that the detail is refused, where no piece is.
	refusedBit = 0x80
)

var (
	gateOrder    = [gateCount]Gate(Gates())
	verdictOrder = [...]Verdict{Pass, Refuse, Skipped}
)

// AnswersOf returns the answers of results. A zero position is left out.
func AnswersOf(results ...GateResult) Answers {
	var a Answering
	for _, r := range results {
		var at Position
		if r.Position != nil {
			at = *r.Position
		}
		a.Own(r.Detail)
		a.Add(r.Gate, r.Verdict, at, "")
	}
	return a.Answers()
}

// All goes through the answers.
func (a Answers) All() iter.Seq[GateResult] {
	return func(yield func(GateResult) bool) {
		if a.odd != nil {
			for _, r := range *a.odd {
				if r.Position != nil {
					at := *r.Position
					r.Position = &at
				}
				if !yield(r) {
					return
				}
			}
			return
		}
		if a.form == (unique.Handle[form]{}) {
			return
		}
		f := a.form.Value()
		gaps, from := filled(f.gaps, a.own), uint8(0)
		for _, m := range f.marks[:f.n] {
			r := GateResult{Gate: gateOrder[m.gate], Verdict: verdictOrder[m.what&^refusedBit], Detail: f.detail(from, m.end, &gaps)}
			from = m.end
			if m.what&refusedBit != 0 {
				r.Detail = a.refused
			}
			if m.file > 0 {
				r.Position = &Position{File: f.files[m.file-1], Line: int(m.line), Column: int(m.column)}
			}
			if !yield(r) {
				return
			}
		}
	}
}

// filled are the pieces of own, of which there is one for each bit of gaps.
func filled(gaps uint64, own string) (out []string) {
	var sizes []int
	for ; gaps != 0; gaps &= gaps - 1 {
		n, read := binary.Uvarint([]byte(own[:min(len(own), binary.MaxVarintLen64)]))
		sizes, own = append(sizes, int(n)), own[read:]
	}
	for _, n := range sizes {
		out, own = append(out, own[:n]), own[n:]
	}
	return out
}

// detail puts the pieces together, with those of gaps in the gaps.
func (f *form) detail(from, end uint8, gaps *[]string) string {
	var s string
	for i := from; i < end; i++ {
		if piece := f.pieces[i]; f.gaps&(1<<i) == 0 {
			s += piece
		} else {
			s, *gaps = s+(*gaps)[0], (*gaps)[1:]
		}
	}
	return s
}

// Of returns the answer of g, and whether there is one.
func (a Answers) Of(g Gate) (GateResult, bool) {
	for r := range a.All() {
		if r.Gate == g {
			return r, true
		}
	}
	return GateResult{}, false
}

// Equal says whether b are the same answers.
func (a Answers) Equal(b Answers) bool {
	return slices.EqualFunc(slices.Collect(a.All()), slices.Collect(b.All()), func(x, y GateResult) bool {
		placed := x.Position != nil && y.Position != nil && *x.Position == *y.Position
		if placed {
			x.Position = y.Position
		}
		return x == y
	})
}

// With returns the answers with r in the place of the one of its gate, or behind all.
func (a Answers) With(r GateResult) Answers {
	list := slices.Collect(a.All())
	i := slices.IndexFunc(list, func(was GateResult) bool { return was.Gate == r.Gate })
	if i < 0 {
		return AnswersOf(append(list, r)...)
	}
	list[i] = r
	return AnswersOf(list...)
}

// String says gates and verdicts.
func (a Answers) String() string {
	var words []string
	for r := range a.All() {
		words = append(words, strings.TrimSuffix(string(r.Gate)+" "+string(r.Verdict)+": "+r.Detail, ": "))
	}
	return strings.Join(words, "; ")
}

// MarshalJSON writes a list of [GateResult], and null for none.
func (a Answers) MarshalJSON() ([]byte, error) { return plainly(slices.Collect(a.All())) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Answers) UnmarshalJSON(text []byte) error {
	var list []GateResult
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*a = AnswersOf(list...)
	return nil
}

// Answering puts answers together, and can be used again after Reset. The zero Answering
// has none.
type Answering struct {
	form
	used    uint8  // of the pieces
	said    []byte // what is the request's own
	ends    []int  // of its pieces
	scratch []byte
	refused string
	odd     []GateResult
	full    bool // the answer that is added next has too many pieces
	spilled []byte
}

// Say adds to the detail of the answer that is added next what is the same for other
// requests, too: if it isn't, that takes more memory, and nothing else.
func (a *Answering) Say(words ...string) {
	for _, w := range words {
		switch {
		case w == "":
		case a.full || a.used == maxPieces:
			a.spill()
			a.spilled = append(a.spilled, w...)
		default:
			a.pieces[a.used] = w
			a.used++
		}
	}
}

// Own adds what is this request's own.
func (a *Answering) Own(words ...string) {
	for _, w := range words {
		if w != "" && a.gap() {
			a.said = append(a.said, w...)
			a.ends[len(a.ends)-1] = len(a.said)
		} else {
			a.spilled = append(a.spilled, w...)
		}
	}
}

// Count adds a number, which is the request's own.
func (a *Answering) Count(n int64) {
	if !a.gap() {
		a.spilled = strconv.AppendInt(a.spilled, n, 10)
		return
	}
	a.said = strconv.AppendInt(a.said, n, 10)
	a.ends[len(a.ends)-1] = len(a.said)
}

// gap sees to it that the last piece is a gap, and says whether there is room for one.
func (a *Answering) gap() bool {
	switch {
	case a.full:
		return false
	case a.used > a.end() && a.gaps&(1<<(a.used-1)) != 0:
		return true
	case a.used == maxPieces:
		a.spill()
		return false
	}
	a.gaps |= 1 << a.used
	a.used++
	a.ends = append(a.ends, len(a.said))
	return true
}

// spill has what is said of one gate, and has no room, in a text of its own.
func (a *Answering) spill() {
	if !a.full {
		a.spilled = append(a.spilled[:0], a.detail()...)
		a.full = true
	}
}

// detail is what was said since the last answer.
func (a *Answering) detail() string {
	if a.full {
		return string(a.spilled)
	}
	var gaps []string
	for i := a.gapsBefore(a.end()); i < len(a.ends); i++ {
		gaps = append(gaps, string(a.said[a.endOf(i):a.ends[i]]))
	}
	return a.form.detail(a.end(), a.used, &gaps)
}

// gapsBefore counts those among the first pieces.
func (a *Answering) gapsBefore(end uint8) int { return bits.OnesCount64(a.gaps & (1<<end - 1)) }

// endOf is where what is in front of the i-th gap ends.
func (a *Answering) endOf(i int) int {
	if i == 0 {
		return 0
	}
	return a.ends[i-1]
}

// Unsay drops what was said since the last answer.
func (a *Answering) Unsay() {
	end := a.end()
	gaps := a.gapsBefore(end)
	a.said, a.ends = a.said[:a.endOf(gaps)], a.ends[:gaps]
	clear(a.pieces[end:a.used])
	a.used, a.gaps, a.full = end, a.gaps&(1<<end-1), false
}

// end is where the last answer ends.
func (a *Answering) end() uint8 {
	if a.n == 0 {
		return 0
	}
	return a.marks[a.n-1].end
}

// Add adds an answer, with detail behind what was said. A zero position is left out.
func (a *Answering) Add(g Gate, v Verdict, at Position, detail string) {
	refused := v == Refuse && a.refused == "" && a.used == a.end() && !a.full
	if !refused {
		a.Say(detail)
	}
	m, fits := a.mark(g, v, at)
	if !fits || a.full || a.odd != nil {
		if a.odd == nil {
			a.odd = append([]GateResult{}, slices.Collect(a.Answers().All())...)
		}
		r := GateResult{Gate: g, Verdict: v, Detail: detail}
		if !refused {
			r.Detail = a.detail()
		}
		if at != (Position{}) {
			r.Position = &Position{File: at.File, Line: at.Line, Column: at.Column}
		}
		a.Unsay()
		a.odd = append(a.odd, r)
		return
	}
	if refused && detail != "" {
		a.refused, m.what = detail, m.what|refusedBit
	}
	m.end = a.used
	a.marks[a.n] = m
	a.n++
}

// mark says whether an answer can be kept as one.
func (a *Answering) mark(g Gate, v Verdict, at Position) (m mark, fits bool) {
	if int(a.n) == gateCount {
		return m, false
	}
	gate := int(a.n) // which it is where all are asked
	if gateOrder[gate] != g {
		gate = slices.Index(gateOrder[:], g)
	}
	verdict := slices.Index(verdictOrder[:], v)
	if gate < 0 || verdict < 0 || uint64(at.Line) > math.MaxUint32 || uint64(at.Column) > math.MaxUint32 {
		return m, false
	}
	m.gate, m.what = uint8(gate), uint8(verdict)
	if at == (Position{}) {
		return m, true
	}
	m.line, m.column = uint32(at.Line), uint32(at.Column)
	for i := range a.files {
		// One more is as good as a place without a file, which is none of ours.
		if a.files[i] == "" || a.files[i] == at.File {
			a.files[i], m.file = at.File, uint8(i+1)
			return m, at.File != ""
		}
	}
	return m, false
}

// Answers returns what was added.
func (a *Answering) Answers() Answers {
	switch {
	case a.odd != nil:
		odd := slices.Clone(a.odd)
		return Answers{odd: &odd}
	case a.n == 0:
		return Answers{}
	}
	gaps := a.gapsBefore(a.end())
	a.scratch = a.scratch[:0]
	for i, end := range a.ends[:gaps] {
		a.scratch = binary.AppendUvarint(a.scratch, uint64(end-a.endOf(i)))
	}
	a.scratch = append(a.scratch, a.said[:a.endOf(gaps)]...)
	if a.used == a.end() {
		return Answers{form: unique.Make(a.form), own: string(a.scratch), refused: a.refused}
	}
	f := a.form // without what no answer has yet
	f.gaps &= 1<<a.end() - 1
	clear(f.pieces[a.end():])
	return Answers{form: unique.Make(f), own: string(a.scratch), refused: a.refused}
}

// Reset drops the answers and keeps their room, in which no string is left.
func (a *Answering) Reset() {
	*a = Answering{said: a.said[:0], ends: a.ends[:0], scratch: a.scratch[:0], spilled: a.spilled[:0]}
}
