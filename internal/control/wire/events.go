package wire

// A mailbox holds the events that a slow reader hasn't taken yet: of each kind
// only the latest, so it never holds more than four and never makes a writer
// wait. It isn't safe for concurrent use.
type mailbox struct{ events []Event }

// put adds e and forgets an older one of its kind.
func (m *mailbox) put(e Event) {
	for i := range m.events {
		if m.events[i].Kind == e.Kind {
			m.events = append(m.events[:i], m.events[i+1:]...)
			break
		}
	}
	m.events = append(m.events, e)
}

// pop removes the event that came first.
func (m *mailbox) pop() {
	m.events = append(m.events[:0], m.events[1:]...)
}

// putKnown puts e unless its kind is none of this version's; so the box can't grow.
func (m *mailbox) putKnown(e Event) {
	switch e.Kind {
	case EventStarted, EventOutput, EventSettled, EventFailed:
		m.put(e)
	}
}

// Relay moves events from in to out by way of a mailbox, until in is closed
// and everything is delivered, or until stop. It always has an ear for in. On
// stop it returns what is undelivered, for the caller to send if it still can.
func Relay(in <-chan Event, out chan<- Event, stop <-chan struct{}) (left []Event) {
	var box mailbox
	for in != nil || len(box.events) > 0 {
		var to chan<- Event
		var first Event
		if len(box.events) > 0 {
			to, first = out, box.events[0]
		}
		select {
		case e, ok := <-in:
			if !ok {
				in = nil
			}
			box.putKnown(e)
		case to <- first:
			box.pop()
		case <-stop:
			box.drain(in)
			return box.events
		}
	}
	return nil
}

// drain takes what in has ready, but no more than a handler would ever leave.
func (m *mailbox) drain(in <-chan Event) {
	for range 1024 {
		select {
		case e, ok := <-in:
			if !ok {
				return
			}
			m.putKnown(e)
		default:
			return
		}
	}
}
