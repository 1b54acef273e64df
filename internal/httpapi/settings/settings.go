// Package settings reads how a server is to be run: from a file, the environment and
// flags, in that order, of which the later wins. Everything that is wrong is said at
// once, each with its place.
//
// # Limits
//
// It opens no file and no address. Whether the files that are named can be used is seen
// when they are.
package settings

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/lease/span"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/trace/wanted"
)

// DefaultListen is the address of a server that isn't told another.
const DefaultListen = "127.0.0.1:7077"

// Settings say how a server is to be run.
type Settings struct {
	Listen string
	// PublicURL is how browsers reach us; empty means by the address itself.
	PublicURL string
	// Cert and Key are files with what TLS needs; empty means that there is none here.
	Cert, Key string
	// Proxies are trusted to say who a request is from, and to have TLS.
	Proxies []netip.Prefix
	// Hosts are further names by which we are called.
	Hosts []string
	// TokenFile holds the token of who administers us.
	TokenFile string
	// Postgres is the file with the address of the database of accounts; empty means
	// SQLite in the state directory.
	Postgres string
	// Workspaces are roots of the policy in which people make workspaces.
	Workspaces []string
	// Accept is what is put up with of that database: see [Acceptable].
	Accept []string
	// Wait is how long a server that begins waits for that database; 0 doesn't.
	Wait time.Duration
	// NoWorker says that the server only queues: others carry runs out.
	NoWorker bool
	// Runs is how many runs the server's own worker carries out at once.
	Runs int64
	// Leases are how long workers may be silent.
	Leases lease.Times
	// Providers say who people are, beside this server.
	Providers []Provider
	// LogFormat is text or json.
	LogFormat string
	// Pprof lets admins take profiles.
	Pprof bool
	// Traces say where traces go, if anywhere.
	Traces wanted.Settings
	// Connections is how many there may be at once.
	Connections int
	Limits      Limits
	// PerAccount is how many runs of one account workers that this server has may carry out
	// at once; 0 stands for any number.
	PerAccount int64
	// PerWorkspace likewise, of one workspace.
	PerWorkspace int64
	MCP          MCP
}

// Acceptable lists what a database may be only where somebody says so: one that lets us
// in with any password, one in which we are a superuser, and one on another machine that
// is reached without TLS.
func Acceptable() []string { return []string{"any_password", "superuser", "plain_text"} }

// Limits are those of the door, by the same names.
type Limits struct {
	PerSecond           float64
	Burst               int
	AllPerSecond        float64
	AllBurst            int
	Streams, AllStreams int

	Attachers, RunAttachers, AllAttachers int

	Body int64
}

// Secure says whether browsers reach the server by TLS.
func (s Settings) Secure() bool {
	return s.Cert != "" || strings.HasPrefix(s.PublicURL, "https://")
}

// Digest is the same for the same settings: of what they say, and not of the files that
// they name.
func (s Settings) Digest() string {
	text, err := json.Marshal(s)
	if err != nil { // they are texts, numbers and lists
		return err.Error()
	}
	return string(paddock.DigestOf(sha256.Sum256(text)))
}

// Loopback says whether only this machine reaches the address.
func (s Settings) Loopback() bool { return loopback(s.Listen) }

// Names are the hosts by which requests may call the server.
func (s Settings) Names() []string {
	names := slices.Clone(s.Hosts)
	if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" {
		names = append(names, strings.ToLower(u.Hostname()))
	}
	if host, _, err := net.SplitHostPort(s.Listen); err == nil && host != "" {
		if a, err := netip.ParseAddr(host); err != nil || !a.IsUnspecified() {
			names = append(names, strings.ToLower(host))
		}
	}
	return names
}

// A Fault is one thing that is wrong.
type Fault struct {
	// Where is FILE:LINE:COLUMN, the name of a variable, or a flag.
	Where   string `json:"where"`
	Message string `json:"message"`
}

func (f Fault) String() string { return f.Where + ": " + f.Message }

// variables are those of the environment that say the same as a key of the file.
func variables() map[string]string {
	return map[string]string{
		"listen": "PADDOCK_LISTEN", "public_url": "PADDOCK_PUBLIC_URL", "trusted_proxies": "PADDOCK_TRUSTED_PROXIES", "hosts": "PADDOCK_HOSTS",
		"workspaces": "PADDOCK_WORKSPACES", "token_file": "PADDOCK_TOKEN_FILE", "log": "PADDOCK_LOG", "pprof": "PADDOCK_PPROF", "store.postgres": "PADDOCK_STORE_POSTGRES", "store.accept": "PADDOCK_STORE_ACCEPT", "store.wait": "PADDOCK_STORE_WAIT", "tls.cert": "PADDOCK_TLS_CERT", "tls.key": "PADDOCK_TLS_KEY",
		"traces.endpoint": "PADDOCK_TRACES_ENDPOINT",
	}
}

// A said is a value with its place.
type said struct{ text, where string }

// Sources are where settings are from. Data is nil where there is no file.
type Sources struct {
	File  string
	Data  []byte
	Env   func(name string) (string, bool)
	Flags map[string]string // by key, of those that were given
	// Usual are the limits of who says none.
	Usual Limits
}

// document is what the file may look like.
func document() shape.Object {
	word := func(say string) shape.Text { return shape.Text{Say: say, Loose: true} }
	count := shape.Integer{Min: 1, Max: 1_000_000}
	rate := shape.Decimal{Min: 0.1, Max: 1_000_000}
	return shape.Object{Doc: "How a Paddock server is run.", Keys: []shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		{Name: "listen", Doc: "The address, host:port.", Shape: word("an address such as 127.0.0.1:7077")},
		{Name: "public_url", Doc: "How browsers reach the server.", Shape: word("a URL such as https://paddock.example.org")},
		{Name: "tls", Doc: "TLS of its own.", Shape: shape.Object{Keys: []shape.Key{
			{Name: "cert", Doc: "file of the certificates.", Shape: word("an absolute path"), Required: true},
			{Name: "key", Doc: "file of the key.", Shape: word("an absolute path"), Required: true},
		}}},
		{Name: "trusted_proxies", Doc: "Who may say who a request is from.", Shape: shape.List{Of: word("a network such as 10.0.0.0/8")}},
		{Name: "hosts", Doc: "Further names of the server.", Shape: shape.List{Of: word("a name such as paddock.example.org")}},
		{Name: "token_file", Doc: "File of the administrator's token.", Shape: word("an absolute path")},
		{Name: "store", Doc: "Where accounts are kept: sqlite, in the state directory, or a database.", Shape: shape.Either{
			Scalar: shape.Choice{"sqlite"},
			Other: shape.Object{Keys: []shape.Key{
				{Name: "postgres", Doc: "file with the address of the database.", Shape: word("an absolute path"), Required: true},
				{Name: "accept", Doc: "what is put up with of the database.", Shape: shape.List{Of: shape.Choice(Acceptable()), Min: 1}},
				{Name: "wait", Doc: "how long the server waits for the database when it begins.", Shape: word("a time such as 5m or 0s")},
			}},
		}},
		{Name: "workspaces", Doc: "Roots of the policy in which people make workspaces.", Shape: shape.List{Of: word("an absolute path")}},
		span.Key(),
		{Name: "worker", Doc: "Who carries runs out: own, the server, or none, so only workers elsewhere do.", Shape: shape.Choice{"own", "none"}},
		providersKey(),
		{Name: "log", Doc: "The form of the log.", Shape: shape.Choice{"text", "json"}},
		{Name: "pprof", Doc: "Whether admins may take profiles of the server.", Shape: shape.Boolean{}},
		wanted.Key(),
		{Name: "limits", Doc: "What is too much.", Shape: shape.Object{Keys: []shape.Key{
			{Name: "connections", Doc: "connections at once.", Shape: count},
			{Name: "requests_per_second", Doc: "of one account.", Shape: rate},
			{Name: "burst", Doc: "requests of one account at once.", Shape: count},
			{Name: "all_per_second", Doc: "of all together.", Shape: rate},
			{Name: "all_burst", Doc: "requests of all at once.", Shape: count},
			{Name: "body", Doc: "bytes of a request.", Shape: size(mostBody)},
			{Name: "streams", Doc: "event streams of one account.", Shape: count},
			{Name: "all_streams", Doc: "event streams of all.", Shape: count},
			{Name: "attachers", Doc: "connections of one account at terminals.", Shape: count},
			{Name: "run_attachers", Doc: "connections at the terminal of one run.", Shape: count},
			{Name: "all_attachers", Doc: "connections of all at terminals.", Shape: count},
			{Name: "runs", Doc: "runs that the server's own worker carries out at once; others wait in the queue.", Shape: count},
			{Name: "runs_of_account", Doc: "runs of one account, on all workers, past which the server's own takes none of it.", Shape: count},
			{Name: "runs_of_workspace", Doc: "runs of one workspace, likewise.", Shape: count},
			{Name: "mcp_sessions", Doc: "sessions of one account at /mcp; one more ends the one that was used the longest ago.", Shape: count},
			{Name: "mcp_all_sessions", Doc: "sessions of all at /mcp.", Shape: count},
			{Name: "mcp_requests", Doc: "requests of one account that are under way at /mcp, streams included.", Shape: count},
			{Name: "mcp_body", Doc: "bytes of a request at /mcp.", Shape: size(mostBody)},
			{Name: "mcp_kept_answers", Doc: "last answers of a session at /mcp that are kept for clients that come back for them.", Shape: shape.Integer{Min: 1, Max: 10_000}},
			{Name: "mcp_kept_bytes", Doc: "bytes of those.", Shape: size(mostKept)},
			{Name: "mcp_idle", Doc: "after how long a session at /mcp ends that nobody used.", Shape: word("a time such as 1h or 30m")},
		}}},
	}}
}

// Read puts settings together. They are of use only when there are no faults.
func Read(from Sources) (Settings, []Fault) {
	r := &reader{values: map[string][]said{}}
	r.file(from)
	for key, name := range variables() {
		if text, ok := from.Env(name); ok && text != "" {
			r.replace(key, text, name)
		}
	}
	for key, text := range from.Flags {
		r.replace(key, text, "--"+strings.ReplaceAll(key, "_", "-"))
	}
	s := r.settings(from.Usual)
	r.together(s)
	slices.SortStableFunc(r.faults, func(a, b Fault) int { return strings.Compare(a.Where, b.Where) })
	return s, r.faults
}

type reader struct {
	values map[string][]said
	blocks []block
	faults []Fault
}

func (r *reader) fault(where, format string, args ...any) {
	r.faults = append(r.faults, Fault{where, fmt.Sprintf(format, args...)})
}

func (r *reader) replace(key, text, where string) {
	r.values[key] = nil
	for word := range strings.SplitSeq(text, ",") {
		r.values[key] = append(r.values[key], said{strings.TrimSpace(word), where})
	}
}

// file takes what the file says, by the names of keys, of nested ones with a dot.
func (r *reader) file(from Sources) {
	if from.Data == nil {
		return
	}
	value, faults := shape.Read(from.Data, document())
	place := func(line, column int) string { return fmt.Sprintf("%s:%d:%d", from.File, line, column) }
	for _, f := range faults {
		r.fault(place(f.Line, f.Column), "%s", f.Message)
	}
	take := func(key string, v *shape.Value) {
		r.values[key] = append(r.values[key], said{v.Text, place(v.Line, v.Column)})
	}
	for _, e := range value.Pairs() {
		if e.Key.Text == "providers" {
			for _, item := range e.Value.Items() {
				r.block(item, place)
			}
			continue
		}
		for _, inner := range e.Value.Pairs() {
			for _, item := range inner.Value.Items() {
				take(e.Key.Text+"."+inner.Key.Text, item)
			}
			if len(inner.Value.Items()) == 0 {
				take(e.Key.Text+"."+inner.Key.Text, inner.Value)
			}
		}
		for _, item := range e.Value.Items() {
			take(e.Key.Text, item)
		}
		if len(e.Value.Pairs()) == 0 && len(e.Value.Items()) == 0 {
			take(e.Key.Text, e.Value)
		}
	}
}

func (r *reader) one(key string, usual string, wrong func(string) string) string {
	all := r.values[key]
	if len(all) == 0 {
		return usual
	}
	if len(all) > 1 {
		r.fault(all[0].where, "%s is one value, without commas.", key)
		return usual
	}
	if why := wrong(all[0].text); why != "" {
		r.fault(all[0].where, "%s is %.100q; %s.", key, all[0].text, why)
		return usual
	}
	return all[0].text
}

func (r *reader) where(key string) string {
	if all := r.values[key]; len(all) > 0 {
		return all[0].where
	}
	return key
}

func (r *reader) number(key string, usual float64) float64 {
	v, err := strconv.ParseFloat(r.one(key, strconv.FormatFloat(usual, 'g', -1, 64), func(string) string { return "" }), 64)
	if err != nil {
		return usual // the document's shape has said so
	}
	return v
}

// limits are those of the door, of which l are the usual ones.
func (r *reader) limits(l Limits) Limits {
	return Limits{
		PerSecond: r.number("limits.requests_per_second", l.PerSecond), Burst: int(r.number("limits.burst", float64(l.Burst))),
		AllPerSecond: r.number("limits.all_per_second", l.AllPerSecond), AllBurst: int(r.number("limits.all_burst", float64(l.AllBurst))),
		Streams: int(r.number("limits.streams", float64(l.Streams))), AllStreams: int(r.number("limits.all_streams", float64(l.AllStreams))),
		Attachers: int(r.number("limits.attachers", float64(l.Attachers))), RunAttachers: int(r.number("limits.run_attachers", float64(l.RunAttachers))),
		AllAttachers: int(r.number("limits.all_attachers", float64(l.AllAttachers))),
		Body:         int64(r.number("limits.body", float64(l.Body))),
	}
}

func (r *reader) settings(l Limits) Settings {
	s := Settings{
		Listen: r.one("listen", DefaultListen, wrongAddress), PublicURL: r.one("public_url", "", wrongURL),
		Cert: r.one("tls.cert", "", relative), Key: r.one("tls.key", "", relative), TokenFile: r.one("token_file", "", relative),
		Postgres: r.one("store.postgres", "", relative),
		LogFormat: r.one("log", "text", func(s string) string {
			if s != "text" && s != "json" {
				return "it is text or json"
			}
			return ""
		}),
		Pprof: r.one("pprof", "false", wrongBool) == "true",
		NoWorker: r.one("worker", "own", func(s string) string {
			if s != "own" && s != "none" {
				return "it is own or none"
			}
			return ""
		}) == "none",
		Runs:         int64(r.number("limits.runs", 1000)),
		PerAccount:   int64(r.number("limits.runs_of_account", 0)),
		PerWorkspace: int64(r.number("limits.runs_of_workspace", 0)),
		MCP:          r.mcp(),
		Connections:  int(r.number("limits.connections", 20_000)),
		Limits:       r.limits(l),
	}
	s.Wait, _ = time.ParseDuration(r.one("store.wait", "5m", wrongWait)) // what is wrong is told
	s.Providers, s.Traces, s.Leases = r.providers(s.PublicURL), r.traces(), r.leases()
	r.lists(&s)
	return s
}

// together is what only makes sense, or none, side by side.
func (r *reader) together(s Settings) {
	if s.NoWorker && s.Postgres == "" {
		r.fault(r.where("worker"), "worker is none and accounts are in the state directory, where no other machine finds what is queued. Say store: {postgres: FILE}, or let the server have its own worker.")
	}
	if (s.Cert == "") != (s.Key == "") {
		r.fault(r.where("tls.cert"), "tls wants both cert and key.")
	}
	if s.Cert != "" && strings.HasPrefix(s.PublicURL, "http:") {
		r.fault(r.where("public_url"), "public_url is http and there is tls; it must be https then.")
	}
	if s.Limits.Attachers > s.Limits.AllAttachers || s.Limits.RunAttachers > s.Limits.AllAttachers {
		r.fault(r.where("limits.all_attachers"), "All together may have %d connections at terminals, one account %d, and one run %d: all_attachers must be as many at least.", s.Limits.AllAttachers, s.Limits.Attachers, s.Limits.RunAttachers)
	}
	if s.Limits.Body > 0 && s.MCP.Body > s.Limits.Body {
		r.fault(r.where("limits.mcp_body"), "A request may have %d bytes, and one at /mcp %d: mcp_body is body at most.", s.Limits.Body, s.MCP.Body)
	}
	if len(s.Accept) > 0 && s.Postgres == "" {
		r.fault(r.where("store.accept"), "accept is about a database, and there is none: say store: {postgres: FILE, accept: …}.")
	}
	if len(r.values["store.wait"]) > 0 && s.Postgres == "" {
		r.fault(r.where("store.wait"), "wait is about a database, and there is none: say store: {postgres: FILE, wait: …}.")
	}
	if s.Loopback() || s.Cert != "" {
		return
	}
	if len(s.Proxies) == 0 || !strings.HasPrefix(s.PublicURL, "https://") {
		r.fault(r.where("listen"), "%s can be reached from elsewhere, where passwords and output would be readable on the way. Give it tls: {cert, key}, or say trusted_proxies and an https public_url of the proxy before it, or listen on %s.", s.Listen, DefaultListen)
	}
}
