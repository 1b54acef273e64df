package lease

// Rest returns when nothing that was begun by w goes on: what ends in the middle, as a
// process does, takes that along.
func (w *Worker) Rest() { w.work.Wait() }
