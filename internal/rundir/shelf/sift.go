package shelf

import "paddock"

// A Kind is what is remembered of a run that never changes, such as whose it is; 0 is
// nothing.
type Kind uint32

// A Sieve says which runs are wanted, by their kinds.
type Sieve struct {
	// Of finds out what kind a run in the directory is; 0 if that can't be remembered.
	Of func(dir string, id paddock.RunID) Kind
	// Wants says whether runs of a kind are wanted. Those of kind 0 are.
	Wants func(Kind) bool
	// Looks is how many kinds may still be found out; below 0 there is no end.
	Looks int
}

// Sift is [Names.Newest] of runs that are wanted. When no more kinds may be found out it
// stops; next is what the runs come before then that weren't looked at, and else empty.
func (n *Names) Sift(dir string, before paddock.RunID, most int, s *Sieve) (ids []paddock.RunID, next paddock.RunID, err error) {
	d, err := n.whole(dir)
	if err != nil {
		return nil, "", err
	}
	d.kinds.Lock()
	defer d.kinds.Unlock()
	if d.kind == nil {
		d.kind = make([]Kind, len(d.ids))
	}
	for i := d.end(before) - 1; i >= 0 && len(ids) < most; i-- {
		if d.kind[i] == 0 {
			if s.Looks == 0 {
				return ids, d.ids[i].following().id(), nil
			}
			s.Looks--
			d.kind[i] = s.Of(dir, d.ids[i].id())
		}
		if k := d.kind[i]; k == 0 || s.Wants(k) {
			ids = append(ids, d.ids[i].id())
		}
	}
	return ids, "", nil
}

// take takes over the kinds that an earlier state of the same directory knew.
func (d *day) take(before *day) {
	before.kinds.Lock()
	defer before.kinds.Unlock()
	if before.kind == nil {
		return
	}
	d.kind = make([]Kind, len(d.ids))
	j := 0
	for i, id := range d.ids {
		for j < len(before.ids) && before.ids[j].less(id) {
			j++
		}
		if j < len(before.ids) && before.ids[j] == id {
			d.kind[i] = before.kind[j]
		}
	}
}
