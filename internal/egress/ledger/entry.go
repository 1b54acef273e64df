package ledger

import "time"

// The verdicts of entries.
const (
	Allowed = "allowed"
	Refused = "refused" // a decision: asking again won't help
	Failed  = "failed"  // allowed, but it couldn't be done
)

// The codes of entries that are not plainly allowed, and of the header
// X-Paddock-Refused.
const (
	NotListed      = "host_not_listed"
	AddressRefused = "address_refused"
	Malformed      = "request_malformed"
	Unsupported    = "request_unsupported"
	TLSRequired    = "tls_required"
	NameMismatch   = "server_name_mismatch"
	HostMismatch   = "host_mismatch"
	ResolveFailed  = "resolve_failed"
	ConnectFailed  = "connect_failed"
	OriginFailed   = "origin_failed"
	SecretMissing  = "secret_missing"
	TimedOut       = "timed_out"
	Busy           = "busy"
)

// An Entry is one decision, or the end of a connection that was let through.
// It holds nothing of what was said but the host, and no secrets.
type Entry struct {
	At time.Time `json:"at"`
	// Connection is the same in the entries of one connection.
	Connection uint64 `json:"connection"`
	// Closed is set in the last entry of a connection.
	Closed   bool   `json:"closed"`
	Protocol string `json:"protocol,omitempty"` // connect, http or socks5
	// Host is normalised; empty if what was asked for can't be.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// Address is what was connected to.
	Address string `json:"address,omitempty"`
	Verdict string `json:"verdict"`
	Code    string `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// BytesOut left the run, BytesIn came to it, by the last entry.
	BytesOut int64 `json:"bytes_out"`
	BytesIn  int64 `json:"bytes_in"`
	// Injected names the credentials that requests were given, and InjectedRequests
	// counts these.
	Injected         []string      `json:"injected,omitempty"`
	InjectedRequests int64         `json:"injected_requests,omitempty"`
	Took             time.Duration `json:"took_ns"`
}
