package spawn

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain"
)

// A memory is all that the children of one start work with: the state of the
// process in between, stacks, and what the plan's calls read and write, moved
// here from wherever the plan was made. The rest of this process's data is kept
// out of the process in between, which has an address space of its own: there is
// next to nothing to copy for it, and nothing of ours to be found in it.
type memory struct {
	base  unsafe.Pointer
	size  uintptr
	next  uintptr
	spans []span
}

// A span is memory of the plan, and where it was moved to.
type span struct {
	start, end uintptr // where it was
	data       []byte
	written    bool    // by the kernel, at least in part
	to         uintptr // offset in the memory
}

// The memory begins with the children's stacks. Of each this is the top. Just
// below the thread pointer Go looks for its goroutine, now and then; what it
// finds there is never used.
const (
	stackOfInit    = 8 << 10
	stackOfProgram = 2 * stackOfInit
	threadPointer  = stackOfProgram + 64
)

// newMemory makes room for size bytes beside what calls lead to.
func newMemory(size uintptr, lists ...[]contain.Call) (*memory, error) {
	m := &memory{next: threadPointer}
	page := uintptr(os.Getpagesize())
	m.size = (threadPointer + size + m.note(lists) + page - 1) &^ (page - 1)
	var err error
	// All of it is about to be written: to be given it at once costs less than page by page.
	m.base, err = unix.MmapPtr(-1, 0, nil, m.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	return m, err
}

// collect takes what calls lead to into a memory that is there, if it has room for
// that and size bytes more.
func (m *memory) collect(size uintptr, lists ...[]contain.Call) error {
	if m.next+size+m.note(lists) > m.size {
		return syscall.ENOMEM
	}
	return nil
}

// note remembers what calls read and write, and returns how much room that takes.
func (m *memory) note(lists [][]contain.Call) (size uintptr) {
	n := 0
	for _, calls := range lists {
		n += len(calls)
	}
	m.spans = make([]span, 0, 3*n)
	for _, calls := range lists {
		for i := range calls {
			m.noteOne(&calls[i])
		}
	}
	m.merge()
	for _, s := range m.spans {
		size += aligned(uintptr(len(s.data)))
	}
	return size
}

// move copies the spans, those that are written first: each page that a child
// writes to costs it a copy.
func (m *memory) move(written bool) {
	for i := range m.spans {
		if s := &m.spans[i]; s.written == written {
			s.to = m.take(uintptr(len(s.data)))
			copy(unsafe.Slice((*byte)(m.at(s.to)), len(s.data)), s.data)
		}
	}
}

// noteOne remembers what a call reads and writes.
func (m *memory) noteOne(c *contain.Call) {
	for _, arg := range c.Args {
		_, b, pointers, _ := arg.Parts()
		m.add(b, false)
		m.lead(pointers)
	}
	m.add(c.Into, true)
	m.add(c.Got, true)
	m.add(c.Want, false)
}

func (m *memory) lead(pointers []contain.Pointer) {
	for _, p := range pointers {
		m.add(p.To, false)
		m.lead(p.Pointers)
	}
}

func (m *memory) add(b []byte, written bool) {
	if len(b) > 0 {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		m.spans = append(m.spans, span{start, start + uintptr(len(b)), b, written, 0})
	}
}

// merge makes one of spans that overlap: a result may be a part of a structure.
func (m *memory) merge() {
	slices.SortFunc(m.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	kept := m.spans[:0]
	for _, s := range m.spans {
		if len(kept) > 0 && s.start < kept[len(kept)-1].end {
			last := &kept[len(kept)-1]
			last.written = last.written || s.written
			if s.end > last.end { // both are parts of one object
				last.end = s.end
				last.data = unsafe.Slice(unsafe.SliceData(last.data), s.end-last.start)
			}
			continue
		}
		kept = append(kept, s)
	}
	m.spans = kept
}

// moved returns where b was moved to.
func (m *memory) moved(b []byte) unsafe.Pointer {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	i, found := slices.BinarySearchFunc(m.spans, start, func(s span, at uintptr) int { return cmp.Compare(s.start, at) })
	if !found {
		i--
	}
	return m.at(m.spans[i].to + start - m.spans[i].start)
}

// point puts the addresses that b holds into what was moved.
func (m *memory) point(b []byte, pointers []contain.Pointer) {
	for _, p := range pointers {
		*(*uintptr)(unsafe.Add(m.moved(b), p.At)) = uintptr(m.moved(p.To))
		m.point(p.To, p.Pointers)
	}
}

func (m *memory) at(offset uintptr) unsafe.Pointer { return unsafe.Add(m.base, offset) }

// take returns the offset of n bytes that nothing else uses.
func (m *memory) take(n uintptr) uintptr {
	at := m.next
	if m.next += aligned(n); m.next > m.size {
		panic("spawn: the size of the memory was worked out wrongly")
	}
	return at
}

func aligned(n uintptr) uintptr { return (n + 15) &^ 15 }

// strings puts texts there and a list of them as exec wants it.
func (m *memory) strings(texts []string) (uintptr, error) {
	list := m.take(uintptr(len(texts)+1) * unsafe.Sizeof(uintptr(0)))
	for i, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return 0, syscall.EINVAL
		}
		at := m.at(m.take(uintptr(len(text)) + 1))
		copy(unsafe.Slice((*byte)(at), len(text)), text) // the memory is zero, so it ends with one
		*(*uintptr)(m.at(list + uintptr(i)*unsafe.Sizeof(uintptr(0)))) = uintptr(at)
	}
	return uintptr(m.at(list)), nil
}

// stringsSize is what strings takes.
func stringsSize(texts []string) uintptr {
	size := aligned(uintptr(len(texts)+1) * unsafe.Sizeof(uintptr(0)))
	for _, text := range texts {
		size += aligned(uintptr(len(text)) + 1)
	}
	return size
}

// free gives the memory back. A second time is harmless.
func (m *memory) free() error {
	base := m.base
	if m.base = nil; base == nil {
		return nil
	}
	return unix.MunmapPtr(base, m.size)
}
