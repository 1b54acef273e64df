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
		"store.postgres": s.Postgres, "store.accept": strings.Join(s.Accept, ", "), "workspaces": strings.Join(s.Workspaces, ", "),
		"worker": worker, "log": s.LogFormat, "pprof": strconv.FormatBool(s.Pprof),
		"limits.connections": strconv.Itoa(s.Connections), "limits.runs": strconv.FormatInt(s.Runs, 10),
		"limits.requests_per_second": rate(l.PerSecond), "limits.burst": strconv.Itoa(l.Burst),
		"limits.all_per_second": rate(l.AllPerSecond), "limits.all_burst": strconv.Itoa(l.AllBurst),
		"limits.streams": strconv.Itoa(l.Streams), "limits.all_streams": strconv.Itoa(l.AllStreams),
	}
	for _, p := range s.Providers {
		w["providers."+p.Name] = strings.TrimSpace(fmt.Sprintf("%s %s %s client %s, secret in %s, inside %s", p.Kind, p.Issuer, p.API, p.ClientID, p.SecretFile, strings.Join(p.Inside, ", ")))
	}
	return w
}
