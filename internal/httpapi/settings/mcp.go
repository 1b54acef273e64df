package settings

import (
	"time"

	"paddock/internal/policy/compiled/document/shape"
)

// MCP are the limits of /mcp.
type MCP struct {
	// Sessions and Requests are of one account, AllSessions of everybody.
	Sessions, AllSessions, Requests int
	// Body is the most bytes of a request; KeptAnswers and KeptBytes are what is kept of a
	// session for clients that come back for it.
	Body, KeptBytes int64
	KeptAnswers     int
	// Idle is after how long a session ends that nobody used.
	Idle time.Duration
}

const (
	leastSize = 64 << 10
	mostBody  = 4 << 20 // which is what is read of any request
	mostKept  = 64 << 20
	leastIdle = time.Minute
	mostIdle  = 7 * 24 * time.Hour
)

func size(most int64) shape.Integer { return shape.Integer{Min: leastSize, Max: most} }

func (r *reader) mcp() MCP {
	m := MCP{
		Sessions: int(r.number("limits.mcp_sessions", 32)), AllSessions: int(r.number("limits.mcp_all_sessions", 4096)),
		Requests: int(r.number("limits.mcp_requests", 256)), KeptAnswers: int(r.number("limits.mcp_kept_answers", 64)),
		KeptBytes: int64(r.number("limits.mcp_kept_bytes", 1<<20)),
		// Of who says how large requests may be and nothing of these, these are no larger.
		Body: int64(r.number("limits.mcp_body", min(mostBody, r.number("limits.body", mostBody)))),
	}
	m.Idle, _ = time.ParseDuration(r.one("limits.mcp_idle", "1h", wrongIdle)) // what is wrong is told
	if m.AllSessions < m.Sessions {
		r.fault(r.where("limits.mcp_all_sessions"), "All accounts together may have %d sessions at /mcp, and one of them %d: mcp_all_sessions must be as many at least.", m.AllSessions, m.Sessions)
	}
	return m
}

func wrongIdle(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil || d < leastIdle || d > mostIdle {
		return "a time from 1m to 168h is wanted, such as 1h or 30m"
	}
	return ""
}
