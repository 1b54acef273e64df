// Package ends says why runs are over that never began.
//
// # Limits
//
// It has words for what a person did; what a program did, package screen says.
package ends

import "paddock"

// Unapproved says why a run that waited for approval isn't started. What others said
// of it goes through plain.
func Unapproved(o paddock.Reason, plain func(string) string) string {
	switch o.Kind {
	case paddock.ReasonDenied:
		text := "not started: " + plain(o.By) + " denied it"
		if o.Why != "" {
			text += ": " + plain(o.Why)
		}
		return text
	case paddock.ReasonExpired:
		return "not started: nobody approved it in time"
	}
	return "not started, ask for it again: " + plain(o.Detail)
}
