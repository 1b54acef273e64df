package settings

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/lease"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func read(file string, env, flags map[string]string) (Settings, string) {
	var data []byte
	if file != "" {
		data = []byte(file)
	}
	s, faults := Read(Sources{File: "server.yaml", Data: data, Flags: flags, Usual: Limits{Streams: 3}, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	var all []string
	for _, f := range faults {
		all = append(all, f.String())
	}
	return s, strings.Join(all, "\n")
}

func TestWhoWins(t *testing.T) {
	s, faults := read("version: 1\nlisten: 127.0.0.1:1\nhosts: [A.example]\nlog: json\nlimits: {burst: 7, requests_per_second: 2.5}\n",
		map[string]string{"PADDOCK_LISTEN": "127.0.0.1:2", "PADDOCK_TRUSTED_PROXIES": "10.0.0.1, 192.168.0.0/16"}, map[string]string{"listen": "[::1]:3"})
	if faults != "" || s.Listen != "[::1]:3" || s.Hosts[0] != "a.example" || s.LogFormat != "json" || s.Limits.Burst != 7 || s.Limits.PerSecond != 2.5 || len(s.Proxies) != 2 || s.Proxies[0].Bits() != 32 {
		t.Errorf("%+v\n%s", s, faults)
	}
	if s, faults := read("", nil, nil); faults != "" || s.Listen != DefaultListen || !s.Loopback() || s.Secure() || s.Connections == 0 || s.Limits.Streams != 3 {
		t.Errorf("%+v\n%s", s, faults)
	}
}

// Everything that is wrong is said at once, with its place.
func TestAllFaults(t *testing.T) {
	_, faults := read("version: 1\nlisten: here\nlisten: there\nport: 3\nlimits: {burst: many}\ntrusted_proxies: [x]\nhosts: [\"a:1\"]\n",
		map[string]string{"PADDOCK_PUBLIC_URL": "ftp://x", "PADDOCK_TOKEN_FILE": "token"}, nil)
	for _, want := range []string{
		"server.yaml:3:1", `server.yaml:4:1`, "server.yaml:5:17", "server.yaml:6:19: \"x\" is no network", "server.yaml:7:9: \"a:1\" is no name",
		`PADDOCK_PUBLIC_URL: public_url is "ftp://x"`, `PADDOCK_TOKEN_FILE: token_file is "token"; an absolute path`,
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no %q in:\n%s", want, faults)
		}
	}
}

// An address that others reach needs TLS, here or at a proxy that is named.
func TestExposed(t *testing.T) {
	tls := "tls: {cert: /c, key: /k}\n"
	for file, ok := range map[string]bool{
		"listen: 127.0.0.1:1":                              true,
		"listen: localhost:1":                              true,
		`listen: "[::1]:1"`:                                true,
		"listen: 0.0.0.0:1":                                false,
		`listen: ":1"`:                                     false,
		"listen: 192.0.2.1:1":                              false,
		"listen: paddock.local:1":                          false,
		tls + "listen: 0.0.0.0:1":                          true,
		"listen: 0.0.0.0:1\ntrusted_proxies: [10.0.0.1]":   false,
		"listen: 0.0.0.0:1\npublic_url: https://a.example": false,
		"listen: 0.0.0.0:1\ntrusted_proxies: [10.0.0.1]\npublic_url: http://a.example":    false,
		"listen: 0.0.0.0:1\ntrusted_proxies: [10.0.0.1]\npublic_url: https://a.example/":  true,
		"listen: 0.0.0.0:1\ntrusted_proxies: [10.0.0.1]\npublic_url: https://a.example/b": false,
		tls + "public_url: http://a.example":                                              false,
	} {
		if _, faults := read("version: 1\n"+file+"\n", nil, nil); (faults == "") != ok {
			t.Errorf("%s: %s", file, faults)
		}
	}
	if _, faults := read("version: 1\n", map[string]string{"PADDOCK_TLS_CERT": "/c"}, nil); !strings.Contains(faults, "both cert and key") {
		t.Error(faults)
	}
}

func TestNames(t *testing.T) {
	s, _ := read("version: 1\nlisten: 0.0.0.0:1\nhosts: [b.example]\npublic_url: https://A.example\ntrusted_proxies: [10.0.0.1]\n", nil, nil)
	if got := strings.Join(s.Names(), " "); got != "b.example a.example" || !s.Secure() {
		t.Error(got)
	}
}

// Profiles are off unless they are turned on.
func TestPprof(t *testing.T) {
	for file, want := range map[string]bool{"": false, "pprof: true": true, "pprof: false": false} {
		if s, faults := read("version: 1\n"+file+"\n", nil, nil); faults != "" || s.Pprof != want {
			t.Errorf("%s: %v %s", file, s.Pprof, faults)
		}
	}
	if _, faults := read("version: 1\npprof: yes\n", nil, nil); !strings.Contains(faults, "server.yaml:2") {
		t.Error(faults)
	}
	if _, faults := read("", map[string]string{"PADDOCK_PPROF": "1"}, nil); !strings.Contains(faults, "PADDOCK_PPROF: pprof") {
		t.Error(faults)
	}
}

// Accounts are in the state directory, or in a database whose address is in a file.
func TestStore(t *testing.T) {
	for file, want := range map[string]string{"store: sqlite": "", "store: {postgres: /etc/paddock/database}": "/etc/paddock/database"} {
		if s, faults := read("version: 1\n"+file+"\n", nil, nil); faults != "" || s.Postgres != want {
			t.Errorf("%s: %q %s", file, s.Postgres, faults)
		}
	}
	s, faults := read("version: 1\nstore: {postgres: /a, accept: [superuser, plain_text]}\n", nil, nil)
	if faults != "" || strings.Join(s.Accept, " ") != "superuser plain_text" {
		t.Errorf("%v %s", s.Accept, faults)
	}
	if s, faults := read("", map[string]string{"PADDOCK_STORE_POSTGRES": "/a", "PADDOCK_STORE_ACCEPT": "any_password"}, nil); faults != "" || strings.Join(s.Accept, " ") != "any_password" {
		t.Errorf("%v %s", s.Accept, faults)
	}
	if _, faults := read("", map[string]string{"PADDOCK_STORE_ACCEPT": "everything"}, nil); !strings.Contains(faults, `"everything" can't be accepted`) || !strings.Contains(faults, "there is none") {
		t.Error(faults)
	}
	if s, faults := read("version: 1\nstore: {postgres: /a, wait: 90s}\n", nil, nil); len(faults) > 0 || s.Wait != 90*time.Second {
		t.Errorf("%v %v", s.Wait, faults)
	}
	if s, faults := read("version: 1\nstore: {postgres: /a}\n", map[string]string{"PADDOCK_STORE_WAIT": "0s"}, nil); len(faults) > 0 || s.Wait != 0 {
		t.Errorf("%v %v", s.Wait, faults)
	}
	for _, file := range []string{"store: {postgres: /a, wait: long}", "store: {postgres: /a, wait: -1s}", "store: {postgres: /a, wait: 25h}", "store: {postgres: /a, wait: [1s]}", "store: {wait: 1m}", "store: {postgres: /a, accept: []}", "store: {postgres: /a, accept: [all]}", "store: {accept: [superuser]}", "store: mysql", "store: {postgres: here}", "store: {}", "store: [sqlite]", "store: {postgres: /a, sqlite: /b}"} {
		if _, faults := read("version: 1\n"+file+"\n", nil, nil); !strings.Contains(faults, "server.yaml:2") {
			t.Errorf("%s: %q", file, faults)
		}
	}
}

// Leases last as long as the file says, if that can be.
func TestLeases(t *testing.T) {
	s, faults := read("version: 1\nleases: {beat: 1s, silent: 5s, dead_man: 30s}\n", nil, nil)
	if faults != "" || s.Leases.Beat != time.Second || s.Leases.Lost() != 40*time.Second {
		t.Errorf("%+v\n%s", s.Leases, faults)
	}
	if s, faults := read("version: 1\n", nil, nil); faults != "" || s.Leases != lease.Default {
		t.Errorf("%+v\n%s", s.Leases, faults)
	}
	for text, want := range map[string]string{
		"leases: {dead_man: 2s}": "server.yaml:2:20: leases: dead_man is 2s; it is from 5s",
		"leases: {beat: often}":  "server.yaml:2:16",
		"leases: 5s":             "server.yaml:2:9",
	} {
		if s, faults := read("version: 1\n"+text+"\n", nil, nil); !strings.Contains(faults, want) || s.Leases != lease.Default {
			t.Errorf("%s: %+v\n%s", text, s.Leases, faults)
		}
	}
}
