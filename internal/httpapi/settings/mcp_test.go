package settings

import (
	"strings"
	"testing"
	"time"
)

func TestLimitsOfMCP(t *testing.T) {
	t.Parallel()
	s, faults := read("version: 1\n", nil, nil)
	if faults != "" || s.MCP != (MCP{32, 4096, 256, 4 << 20, 1 << 20, 64, time.Hour}) || s.PerAccount != 0 || s.PerWorkspace != 0 {
		t.Errorf("%+v\n%s", s, faults)
	}
	s, faults = read("version: 1\nlimits: {runs_of_account: 3, runs_of_workspace: 1, mcp_sessions: 2, mcp_all_sessions: 5, mcp_requests: 7, mcp_body: 100000, mcp_kept_bytes: 70000, mcp_kept_answers: 9, mcp_idle: 90m}\n", nil, nil)
	if faults != "" || s.MCP != (MCP{2, 5, 7, 100_000, 70_000, 9, 90 * time.Minute}) || s.PerAccount != 3 || s.PerWorkspace != 1 {
		t.Errorf("%+v\n%s", s, faults)
	}
	if s, faults = read("version: 1\nlimits: {body: 70000}\n", nil, nil); faults != "" || s.Limits.Body != 70_000 || s.MCP.Body != 70_000 {
		t.Errorf("%+v\n%s", s, faults)
	}
	for text, want := range map[string]string{
		"mcp_sessions: 5000":                   "mcp_all_sessions must be as many at least",
		"mcp_all_sessions: 31":                 "2:28: All accounts together may have 31",
		"mcp_sessions: 0":                      "from 1 to 1000000",
		"mcp_requests: many":                   "many",
		"mcp_requests: -1":                     "from 1 to 1000000",
		"runs_of_account: 1.5":                 "1.5",
		"runs_of_workspace: 0":                 "from 1 to 1000000",
		"runs_of_workspace: x":                 "x",
		"body: 65535":                          "from 65536 to 4194304",
		"body: 4194305":                        "from 65536 to 4194304",
		"body: 1MiB":                           "1MiB",
		"body: 70000, mcp_body: 70001":         "2:33: A request may have 70000 bytes, and one at /mcp 70001",
		"mcp_body: 0":                          "from 65536 to 4194304",
		"mcp_body: \"\\0\"":                    "2:20",
		"mcp_kept_answers: 0":                  "from 1 to 10000",
		"mcp_kept_answers: 10001":              "from 1 to 10000",
		"mcp_kept_bytes: 67108865":             "from 65536 to 67108864",
		"mcp_kept_bytes: [1]":                  "2:26",
		"attachers: 0":                         "from 1 to 1000000",
		"attachers: 1.5":                       "1.5",
		"attachers: many":                      "many",
		"attachers: 1000001":                   "from 1 to 1000000",
		"attachers: 9, all_attachers: 8":       "2:39: All together may have 8 connections at terminals, one account 9",
		"run_attachers: 0":                     "from 1 to 1000000",
		"run_attachers: -1":                    "from 1 to 1000000",
		"run_attachers: 9, all_attachers: 8":   "and one run 9",
		"run_attachers: {}":                    "2:25",
		"all_attachers: 0":                     "from 1 to 1000000",
		"all_attachers: 5, all_attachers: 900": "all_attachers",
		"mcp_idle: 59s":                        "2:20: limits.mcp_idle is \"59s\"; a time from 1m to 168h",
		"mcp_idle: 3600":                       "a time from 1m to 168h",
		"mcp_idle: 169h":                       "a time from 1m to 168h",
		"mcp_idle: -1h":                        "a time from 1m to 168h",
		"mcp_idle: \"1h\\0\"":                  "a time from 1m to 168h",
		"mcp_idle: [1h]":                       "2:20",
	} {
		if _, faults := read("version: 1\nlimits: {"+text+"}\n", nil, nil); !strings.Contains(faults, want) {
			t.Errorf("%s: want %q in\n%s", text, want, faults)
		}
	}
}
