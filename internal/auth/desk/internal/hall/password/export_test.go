package password

// Occupy takes all turns of h until the returned function is called.
func Occupy(h *Hasher) (release func()) {
	n := cap(h.atOnce)
	for range n {
		h.queue <- struct{}{}
		h.atOnce <- struct{}{}
	}
	return func() {
		for range n {
			<-h.atOnce
			<-h.queue
		}
	}
}
