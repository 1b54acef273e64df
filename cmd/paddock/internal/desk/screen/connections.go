package screen

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"paddock/internal/egress/ledger"
)

// mostConnections is how many of a run's connections people are shown.
const mostConnections = 50

// connections says where a run went, a line for each connection that is over.
func connections(all []ledger.Entry) [][2]string {
	var f [][2]string
	over := 0
	for _, e := range all {
		if !e.Closed {
			continue
		}
		if over++; over <= mostConnections {
			f = append(f, [2]string{"connection", connection(e)})
		}
	}
	if over <= mostConnections {
		return f
	}
	return append(f, [2]string{"connection", fmt.Sprintf("and %d more; --json shows all", over-mostConnections)})
}

func connection(e ledger.Entry) string {
	s := e.Verdict
	if e.Host != "" {
		s = net.JoinHostPort(e.Host, strconv.Itoa(e.Port)) + " " + s
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if len(e.Injected) > 0 {
		s += " with " + strings.Join(e.Injected, ", ")
	}
	switch {
	case e.Verdict == ledger.Allowed:
		return Plain(s) + ", " + Size(e.BytesOut) + " out, " + Size(e.BytesIn) + " in"
	case e.Reason != "":
		s += ": " + e.Reason
	}
	return Plain(s)
}
