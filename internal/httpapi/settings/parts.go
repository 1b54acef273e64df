package settings

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/lease"
	"paddock/internal/lease/span"
	"paddock/internal/trace/wanted"
)

// lists takes what may be said several times.
func (r *reader) lists(s *Settings) {
	for _, one := range r.values["store.accept"] {
		if !slices.Contains(Acceptable(), one.text) {
			r.fault(one.where, "%.100q can't be accepted of a database; there are %s.", one.text, strings.Join(Acceptable(), ", "))
		}
		s.Accept = append(s.Accept, one.text)
	}
	for _, one := range r.values["trusted_proxies"] {
		p, err := netip.ParsePrefix(one.text)
		if a, single := netip.ParseAddr(one.text); single == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			r.fault(one.where, "%.100q is no network; want one such as 10.0.0.0/8 or an address.", one.text)
			continue
		}
		s.Proxies = append(s.Proxies, p.Masked())
	}
	for _, one := range r.values["workspaces"] {
		if why := relative(one.text); why != "" || filepath.Clean(one.text) != one.text {
			r.fault(one.where, "%.100q is no root for workspaces; an absolute path is wanted, as the policy has it under roots.", one.text)
			continue
		}
		s.Workspaces = append(s.Workspaces, one.text)
	}
	for _, one := range r.values["hosts"] {
		if one.text == "" || strings.ContainsAny(one.text, ":/ @") {
			r.fault(one.where, "%.100q is no name of a host; want one such as paddock.example.org, without a port.", one.text)
			continue
		}
		s.Hosts = append(s.Hosts, strings.ToLower(strings.TrimSuffix(one.text, ".")))
	}
}

// leases are the times that are said, or the usual ones.
func (r *reader) leases() lease.Times {
	var words []string
	where := ""
	for _, name := range span.Keys() {
		key := span.Name + "." + name
		words = append(words, r.one(key, "", func(string) string { return "" }))
		if where == "" && len(r.values[key]) > 0 {
			where = r.where(key)
		}
	}
	t, err := span.Read(words)
	if err != nil {
		r.fault(where, "leases: %v.", err)
		return lease.Default
	}
	return t
}

func (r *reader) traces() wanted.Settings {
	said := func(key string) string { return r.one("traces."+key, "", func(string) string { return "" }) }
	return wanted.Take(said, func(key, why string) {
		r.fault(r.where("traces."+key), "traces.%s is %.100q; %s.", key, said(key), why)
	})
}

func relative(path string) string {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "an absolute path is wanted"
	}
	return ""
}

func wrongBool(s string) string {
	if s != "true" && s != "false" {
		return "it is true or false"
	}
	return ""
}

// mostWait is how long a server may wait for its database.
const mostWait = 24 * time.Hour

func wrongWait(s string) string {
	if d, err := time.ParseDuration(s); err != nil || d < 0 || d > mostWait {
		return "a time from 0s to 24h is wanted, such as 5m"
	}
	return ""
}

func wrongAddress(s string) string {
	_, port, err := net.SplitHostPort(s)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n > 65535 {
		return "an address such as " + DefaultListen + " or [::1]:7077 is wanted"
	}
	return ""
}

func wrongURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "a URL such as https://paddock.example.org is wanted, without a path"
	}
	return ""
}

// loopback says whether only this machine can reach an address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
