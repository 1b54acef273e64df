package reach

import (
	"regexp"
	"strings"
	"sync"
)

// OriginForm is the form of a host that a secret goes to, and HeaderForm that of
// the header it goes in, as expressions.
const (
	OriginForm = `^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`
	HeaderForm = `^[A-Za-z0-9_-]{1,64}$`
)

var headerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(HeaderForm) })

// Origin returns the entry of a network list that a host is, on port 443 unless
// it names one. It takes only what matches the [OriginForm].
func Origin(host string) (entry string, err error) {
	entry = host
	if colon := strings.LastIndexByte(host, ':'); colon < 0 || strings.HasSuffix(host, "]") {
		entry += ":443"
	}
	return entry, Check(entry)
}

// Lists tells whether a network list lists entry, which is one host and port.
func Lists(list []string, entry string) bool {
	for _, l := range list {
		suffix, below := strings.CutPrefix(l, "*")
		if l == entry || below && !address(entry) && strings.HasSuffix(entry, suffix) {
			return true
		}
	}
	return false
}

// address tells whether the host of an entry is an address: no suffix has those.
func address(entry string) bool {
	name := entry[:strings.LastIndexByte(entry, ':')]
	return strings.HasPrefix(name, "[") || strings.Trim(name, "0123456789.") == ""
}

// Settable tells whether a secret can be put into the header of this name: it
// neither frames nor routes a request, nor is it about one connection only.
func Settable(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "expect", "accept-encoding", "connection", "proxy-connection", "keep-alive", "proxy-authenticate",
		"proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
		return false
	}
	return headerForm().MatchString(name)
}
