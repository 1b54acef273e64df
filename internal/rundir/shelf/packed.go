package shelf

import "paddock"

// packed is an id in 128 bits, in the same order.
type packed struct{ high, low uint64 }

const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// worth is what each byte is worth as a digit; more than 31 if it isn't one.
var worth = func() (w [256]uint8) {
	for i := range w {
		w[i] = 32
	}
	for i := range len(digits) {
		w[digits[i]] = uint8(i)
	}
	return w
}()

// parse packs what [paddock.ParseRunID] takes, and nothing else.
func parse(name string) (p packed, ok bool) {
	if len(name) != 27 || name[0] != 'r' || name[1] > '7' {
		return p, false
	}
	for i := 1; i < len(name); i++ {
		n := worth[name[i]]
		if n > 31 {
			return p, false
		}
		p.high, p.low = p.high<<5|p.low>>59, p.low<<5|uint64(n)
	}
	return p, true
}

// pack packs what is a valid id.
func pack(id paddock.RunID) packed {
	p, _ := parse(string(id))
	return p
}

func (p packed) id() paddock.RunID {
	text, high, low := [27]byte{0: 'r'}, p.high, p.low
	for i := len(text) - 1; i > 0; i-- {
		text[i] = digits[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	return paddock.RunID(text[:])
}

func (p packed) less(q packed) bool {
	return p.high < q.high || p.high == q.high && p.low < q.low
}

func (p packed) compare(q packed) int {
	switch {
	case p.less(q):
		return -1
	case q.less(p):
		return 1
	}
	return 0
}

// following is the next larger one.
func (p packed) following() packed {
	p.low++
	if p.low == 0 {
		p.high++
	}
	return p
}
