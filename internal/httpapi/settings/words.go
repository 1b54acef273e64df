package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Words are the settings by the keys of the file, for who tells of changes. Settings
// hold no secret: they name the files that do.
func (s Settings) Words() map[string]string {
	var proxies []string
	for _, p := range s.Proxies {
		proxies = append(proxies, p.String())
	}
	worker := "own"
	if s.NoWorker {
		worker = "none"
	}
	l := s.Limits
	rate := func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
	w := map[string]string{
		"listen": s.Listen, "public_url": s.PublicURL, "tls.cert": s.Cert, "tls.key": s.Key,
		"trusted_proxies": strings.Join(proxies, ", "), "hosts": strings.Join(s.Hosts, ", "), "token_file": s.TokenFile,
		"store.postgres": s.Postgres, "store.accept": strings.Join(s.Accept, ", "), "store.wait": s.Wait.String(), "workspaces": strings.Join(s.Workspaces, ", "),
		"worker": worker, "log": s.LogFormat, "pprof": strconv.FormatBool(s.Pprof),
		"limits.connections": strconv.Itoa(s.Connections), "limits.runs": strconv.FormatInt(s.Runs, 10),
		"limits.runs_of_workspace":   strconv.FormatInt(s.PerWorkspace, 10),
		"limits.requests_per_second": rate(l.PerSecond), "limits.burst": strconv.Itoa(l.Burst),
		"limits.all_per_second": rate(l.AllPerSecond), "limits.all_burst": strconv.Itoa(l.AllBurst),
		"limits.streams": strconv.Itoa(l.Streams), "limits.all_streams": strconv.Itoa(l.AllStreams),
		"limits.attachers": strconv.Itoa(l.Attachers), "limits.run_attachers": strconv.Itoa(l.RunAttachers), "limits.all_attachers": strconv.Itoa(l.AllAttachers),
		"limits.runs_of_account": strconv.FormatInt(s.PerAccount, 10),
		"limits.mcp_sessions":    strconv.Itoa(s.MCP.Sessions), "limits.mcp_all_sessions": strconv.Itoa(s.MCP.AllSessions),
		"limits.body": strconv.FormatInt(l.Body, 10), "limits.mcp_body": strconv.FormatInt(s.MCP.Body, 10),
		"limits.mcp_kept_answers": strconv.Itoa(s.MCP.KeptAnswers), "limits.mcp_kept_bytes": strconv.FormatInt(s.MCP.KeptBytes, 10),
		"limits.mcp_requests": strconv.Itoa(s.MCP.Requests), "limits.mcp_idle": s.MCP.Idle.String(),
		"leases": fmt.Sprintf("beat %s, silent %s, dead_man %s, margin %s", s.Leases.Beat, s.Leases.Lease, s.Leases.DeadMan, s.Leases.Margin),
		"traces": fmt.Sprintf("%s, headers in %s, ca %s, sample %s, incoming %s", s.Traces.Endpoint, s.Traces.HeaderFile, s.Traces.CA, rate(s.Traces.Sample), s.Traces.Incoming),
	}
	for _, p := range s.Providers {
		w["providers."+p.Name] = strings.TrimSpace(fmt.Sprintf("%s %s %s client %s, secret in %s, inside %s, agents %t", p.Kind, p.Issuer, p.API, p.ClientID, p.SecretFile, strings.Join(p.Inside, ", "), p.Agents))
	}
	return w
}
