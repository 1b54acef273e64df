package paddock

import "errors"

// ErrFault marks an error that is our own or the machine's, apart from
// refusals and from programs that failed. Doors show it as such (exit 125).
var ErrFault = errors.New("paddock fault")
