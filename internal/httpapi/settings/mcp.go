package settings

import "time"

// MCP are the limits of /mcp.
type MCP struct {
	// Sessions and Requests are of one account, AllSessions of everybody.
	Sessions, AllSessions, Requests int
	// Idle is after how long a session ends that nobody used.
	Idle time.Duration
}

const (
	leastIdle = time.Minute
	mostIdle  = 7 * 24 * time.Hour
)

func (r *reader) mcp() MCP {
	m := MCP{
		Sessions: int(r.number("limits.mcp_sessions", 32)), AllSessions: int(r.number("limits.mcp_all_sessions", 4096)),
		Requests: int(r.number("limits.mcp_requests", 256)),
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
