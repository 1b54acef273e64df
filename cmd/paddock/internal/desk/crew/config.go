package crew

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/span"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table/unit"
	"paddock/internal/store"
	"paddock/internal/trace/wanted"
	"paddock/internal/trust"
)

// System is the configuration of the whole machine's worker.
const System = "/etc/paddock/worker.yaml"

// most is the longest file that is read.
const most = 1 << 16

// settings say how a worker works.
type settings struct {
	id       store.WorkerID
	postgres string
	capacity int64
	// account is how many runs of one account, workspace of one workspace; 0 is any number
	account, workspace int64
	labels             []string
	spaces             []string // roots in which nothing starts without a workspace
	keys               []*sign.Public
	servers            []server
	sole               bool // nobody else follows the same orders
	waits              time.Duration
	times              lease.Times
	traces             wanted.Settings
}

func document() shape.Object {
	path := shape.Text{Say: "an absolute path", Loose: true}
	return shape.Object{Doc: "How a worker works.", Keys: []shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		{Name: "id", Doc: "The worker's id, as an admin was told when it was added.", Shape: shape.Text{Say: "an id such as w-5f0c…", Loose: true}, Required: true},
		{Name: "postgres", Doc: "File with the address of the database, for the worker's own user.", Shape: path, Required: true},
		{Name: "orders", Doc: "Files with the public keys of the servers whose orders are followed.", Shape: shape.List{Of: path}, Required: true},
		{Name: "servers", Doc: "Servers that are asked whether an order is for this worker, and are shown what is printed here; a connection is kept to each.", Shape: shape.List{Of: serverKeys(path)}},
		{Name: "sole", Doc: "That no other worker follows the same orders, so no server is asked.", Shape: shape.Boolean{}},
		{Name: "signer_wait", Doc: "How long a run that was taken waits for the server that signed it.", Shape: shape.Text{Say: unit.DurationSay, Pattern: shape.Expression(unit.DurationForm)}},
		span.Key(),
		{Name: "capacity", Doc: "How many runs are carried out at once.", Shape: shape.Integer{Min: 1, Max: 100_000}},
		{Name: "runs_of_account", Doc: "Runs of one account, on all workers, past which this one takes none of it.", Shape: shape.Integer{Min: 1, Max: 100_000}},
		{Name: "runs_of_workspace", Doc: "Runs of one workspace, likewise.", Shape: shape.Integer{Min: 1, Max: 100_000}},
		{Name: "workspaces", Doc: "Roots of the policy in which servers make workspaces; nothing starts there without one.", Shape: shape.List{Of: path}},
		wanted.Key(),
		{Name: "labels", Doc: "What runs may need of a worker.", Shape: shape.List{Of: shape.Text{Say: "a word such as gpu", Loose: true}}},
	}}
}

// read reads the configuration, which nobody else may be able to change, and the keys
// that it names.
func read(d *desk.Desk, file string) (settings, error) {
	path := System
	if file != "" {
		path = d.Absolute(file)
	}
	data, err := believed(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, desk.Usage("there is no file "+desk.Plain(path), "--config names the configuration of the worker; docs/workers.md has every key")
	}
	if err != nil {
		return settings{}, desk.Usage(desk.Plain(path)+": "+err.Error(), "nobody else may be able to change the configuration")
	}
	value, faults := shape.Read(data, document())
	var all []string
	for _, f := range faults {
		all = append(all, fmt.Sprintf("%s:%d:%d: %s", path, f.Line, f.Column, f.Message))
	}
	s := settings{capacity: 4, times: lease.Default}
	if len(all) == 0 {
		all = s.take(path, value)
	}
	if len(all) > 0 {
		return settings{}, desk.Usage(strings.Join(all, "\n"), "docs/workers.md has every key")
	}
	return s, nil
}

// take takes what the file says, and returns what is wrong with it.
func (s *settings) take(file string, v *shape.Value) (faults []string) {
	fault := func(at *shape.Value, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d:%d: %s", file, at.Line, at.Column, fmt.Sprintf(format, args...)))
	}
	for _, p := range v.Pairs() {
		switch at := p.Value; p.Key.Text {
		case "id":
			s.id = store.WorkerID(at.Text)
			if at.Text == "" || len(at.Text) > store.MostID || strings.Trim(at.Text, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				fault(at, "id is %.80q; it is at most %d of a-z, 0-9 and -.", at.Text, store.MostID)
			}
		case "postgres":
			if s.postgres = at.Text; !filepath.IsAbs(at.Text) {
				fault(at, "postgres is %.100q; an absolute path is wanted.", at.Text)
			}
		case "capacity":
			s.capacity, _ = strconv.ParseInt(at.Text, 10, 64) // the shape has looked at it
		case "runs_of_account":
			s.account, _ = strconv.ParseInt(at.Text, 10, 64) // the shape has looked at it
		case "runs_of_workspace":
			s.workspace, _ = strconv.ParseInt(at.Text, 10, 64) // likewise
		case "workspaces":
			for _, one := range at.Items() {
				if s.spaces = append(s.spaces, one.Text); !filepath.IsAbs(one.Text) {
					fault(one, "%.100q is no root for workspaces; an absolute path is wanted, as the policy has it under roots.", one.Text)
				}
			}
		case span.Name:
			s.times = takeTimes(at, fault)
		case "traces":
			s.traces = takeTraces(at, fault)
		case "labels":
			for _, l := range at.Items() {
				s.labels = append(s.labels, l.Text)
			}
		case "sole":
			s.sole = at.Text == "true"
		case "signer_wait":
			s.waits = takeWait(at, fault)
		case "servers":
			s.servers = takeServers(at, fault)
		case "orders":
			if len(at.Items()) == 0 {
				fault(at, "orders is empty, so nothing could be carried out; name the file orders.key.pub of a server's state directory, copied here.")
			}
			for _, k := range at.Items() {
				key, err := publicKey(k.Text)
				if err != nil {
					fault(k, "%s: %v.", k.Text, err)
					continue
				}
				s.keys = append(s.keys, key)
			}
		}
	}
	s.asks(v, fault)
	return faults
}

// asks looks at whether servers are asked, or it is said that they needn't be.
func (s *settings) asks(v *shape.Value, fault func(at *shape.Value, format string, args ...any)) {
	if at := v.Get("signer_wait"); at != nil && s.sole {
		fault(at, "signer_wait is about servers, and with `sole: true` none is asked.")
	}
	if v.Get("servers") == nil && !s.sole {
		fault(v, "servers is missing: they are asked whether an order is for this worker. If no other worker follows the same orders, `sole: true` says so.")
	}
}

func takeWait(v *shape.Value, fault func(at *shape.Value, format string, args ...any)) time.Duration {
	wait, err := unit.ParseDuration(v.Text)
	if err != nil || wait < lease.LeastWait || wait > lease.MostWait {
		fault(v, "signer_wait is %.60q; it is from %s to %s.", v.Text, lease.LeastWait, lease.MostWait)
	}
	return wait
}

// leases are the words for the times of leases.
func leases(at *shape.Value) (words []string) {
	for _, name := range span.Keys() {
		text := ""
		if v := at.Get(name); v != nil {
			text = v.Text
		}
		words = append(words, text)
	}
	return words
}

func takeTimes(v *shape.Value, fault func(at *shape.Value, format string, args ...any)) lease.Times {
	times, err := span.Read(leases(v))
	if err != nil {
		fault(v, "leases: %v.", err)
	}
	return times
}

func takeTraces(v *shape.Value, fault func(at *shape.Value, format string, args ...any)) wanted.Settings {
	said := map[string]*shape.Value{}
	for _, inner := range v.Pairs() {
		said[inner.Key.Text] = inner.Value
	}
	return wanted.Take(func(key string) string {
		if said[key] == nil {
			return ""
		}
		return said[key].Text
	}, func(key, why string) { fault(said[key], "traces.%s is %.100q; %s.", key, said[key].Text, why) })
}

func publicKey(path string) (*sign.Public, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("an absolute path is wanted")
	}
	text, err := believed(path)
	if err != nil {
		return nil, err
	}
	return sign.ParsePublic(string(text))
}

// believed reads a file that only root and we can have written.
func believed(path string) ([]byte, error) {
	f, _, err := trust.User().Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(data) > most {
		err = errors.New("it is too long")
	}
	return data, err
}
