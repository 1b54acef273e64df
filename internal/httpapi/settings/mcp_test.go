package settings

import (
	"strings"
	"testing"
	"time"
)

func TestLimitsOfMCP(t *testing.T) {
	t.Parallel()
	s, faults := read("version: 1\n", nil, nil)
	if faults != "" || s.MCP != (MCP{32, 4096, 256, time.Hour}) || s.PerAccount != 0 || s.PerWorkspace != 0 {
		t.Errorf("%+v\n%s", s, faults)
	}
	s, faults = read("version: 1\nlimits: {runs_of_account: 3, runs_of_workspace: 1, mcp_sessions: 2, mcp_all_sessions: 5, mcp_requests: 7, mcp_idle: 90m}\n", nil, nil)
	if faults != "" || s.MCP != (MCP{2, 5, 7, 90 * time.Minute}) || s.PerAccount != 3 || s.PerWorkspace != 1 {
		t.Errorf("%+v\n%s", s, faults)
	}
	for text, want := range map[string]string{
		"mcp_sessions: 5000":   "mcp_all_sessions must be as many at least",
		"mcp_all_sessions: 31": "2:28: All accounts together may have 31",
		"mcp_sessions: 0":      "from 1 to 1000000",
		"mcp_requests: many":   "many",
		"mcp_requests: -1":     "from 1 to 1000000",
		"runs_of_account: 1.5": "1.5",
		"runs_of_workspace: 0": "from 1 to 1000000",
		"runs_of_workspace: x": "x",
		"mcp_idle: 59s":        "2:20: limits.mcp_idle is \"59s\"; a time from 1m to 168h",
		"mcp_idle: 3600":       "a time from 1m to 168h",
		"mcp_idle: 169h":       "a time from 1m to 168h",
		"mcp_idle: -1h":        "a time from 1m to 168h",
		"mcp_idle: \"1h\\0\"":  "a time from 1m to 168h",
		"mcp_idle: [1h]":       "2:20",
	} {
		if _, faults := read("version: 1\nlimits: {"+text+"}\n", nil, nil); !strings.Contains(faults, want) {
			t.Errorf("%s: want %q in\n%s", text, want, faults)
		}
	}
}
