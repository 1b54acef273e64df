//go:build linux

// Package deploy_test holds the files of deploy/ to what can be known here: that they have
// no key that isn't known, that what they configure is valid, that the service manager
// takes the units, and that no promise about them was edited away.
package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"paddock/internal/httpapi/settings"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const deploy = "../../deploy/"

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deploy + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A unit has these words, besides others.
func TestUnitsSay(t *testing.T) {
	t.Parallel()
	service := []string{
		"User=paddock", "KillMode=process", "Delegate=yes", "Restart=on-failure", "Type=notify", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "UMask=0077", "TasksMax=infinity",
		"StateDirectory=paddock", "Environment=PADDOCK_STATE=/var/lib/paddock/state",
	}
	for name, words := range map[string][]string{
		"paddock.service":        append(slices.Clone(service), "LoadCredential=token:/etc/paddock/token", "Environment=PADDOCK_TOKEN_FILE=%d/token", "Requires=paddock.socket", "ExecStart=/usr/local/bin/paddock serve"),
		"paddock-worker.service": append(slices.Clone(service), "LoadCredential=database:/etc/paddock/database"),
		"paddock.socket":         {"ListenStream=" + settings.DefaultListen},
	} {
		lines := strings.Split(read(t, "systemd/"+name), "\n")
		for _, word := range words {
			if !slices.Contains(lines, word) {
				t.Errorf("%s lacks the line %s", name, word)
			}
		}
		// Each of these would put runs where their own containment can't be built.
		for _, line := range lines {
			for _, bad := range []string{"PrivateTmp", "ProtectSystem", "ProtectHome", "PrivateDevices", "PrivateUsers", "RestrictNamespaces", "SystemCallFilter", "ProtectKernel", "ProtectControlGroups", "ProtectProc", "MemoryDenyWriteExecute"} {
				if strings.HasPrefix(line, bad) {
					t.Errorf("%s: %s keeps runs from their containment", name, line)
				}
			}
		}
	}
}

// systemd takes the units, with programs that are there.
func TestUnitsVerify(t *testing.T) {
	t.Parallel()
	const analyze = "/usr/bin/systemd-analyze"
	if _, err := os.Stat(analyze); err != nil {
		testproc.Skip(t, "there is no systemd-analyze")
	}
	dir := t.TempDir()
	var units []string
	for _, name := range []string{"paddock.socket", "paddock.service", "paddock-worker.service"} {
		text := strings.ReplaceAll(read(t, "systemd/"+name), "/usr/local/bin/paddock", "/bin/true")
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		units = append(units, path)
	}
	out, err := testproc.Command(t, analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "paddock") {
			t.Error(strings.TrimSpace(line))
		}
	}
	if err != nil && len(out) == 0 {
		t.Error(err)
	}
}

// What the files configure is valid, as the server would see it.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	config := parse(t, "kubernetes/config.yaml", configMap())
	for where, text := range map[string]string{
		"server.yaml":            read(t, "server.yaml"),
		"kubernetes/config.yaml": config.Get("data").Get("server.yaml").Text,
	} {
		s, faults := settings.Read(settings.Sources{File: where, Data: []byte(text), Env: func(string) (string, bool) { return "", false }})
		if len(faults) > 0 {
			t.Errorf("%s: %v", where, faults)
		}
		if where != "server.yaml" && (s.Postgres != "/run/paddock/database" || s.TokenFile != "/run/paddock/token") {
			t.Errorf("%s: the secrets are elsewhere: %+v", where, s)
		}
	}
	if _, err := policy.Load("policy.yaml", []byte(config.Get("data").Get("policy.yaml").Text)); err != nil {
		t.Error(err)
	}
}

// The image is built by the Go that the sources want, from what is copied, and runs as
// nobody's user.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile(`\\\n`).ReplaceAllString(read(t, "docker/Dockerfile"), " ")
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	chain := regexp.MustCompile(`GOTOOLCHAIN := go(\S+)`).FindStringSubmatch(string(makefile))
	if chain == nil || !strings.Contains(text, "FROM golang:"+chain[1]+"-") {
		t.Errorf("the image isn't built by Go %v", chain)
	}
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
	user := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if !slices.Contains(known, words[0]) {
			t.Errorf("what is %s?", words[0])
		}
		if words[0] == "FROM" && (!strings.Contains(words[1], ":") || strings.HasSuffix(words[1], ":latest")) {
			t.Errorf("%s names no version", words[1])
		}
		if words[0] == "USER" {
			user = words[1]
		}
		for _, from := range words {
			if base, ok := strings.CutPrefix(from, "/src/dist/"); ok && !strings.Contains(string(makefile), "-o dist/"+base) && !strings.Contains(string(makefile), "-o dist/ ./cmd/"+base) {
				t.Errorf("make release makes no %s", from)
			}
		}
	}
	if user != "10001:10001" {
		t.Errorf("it runs as %q", user)
	}
}

func parse(t *testing.T, name string, as shape.Shape) *shape.Value {
	t.Helper()
	v, faults := shape.Read([]byte(read(t, name)), as)
	for _, f := range faults {
		t.Errorf("%s:%d:%d: %s", name, f.Line, f.Column, f.Message)
	}
	return v
}

// Manifests have no key that Kubernetes or Compose doesn't know, and every file is used.
func TestManifests(t *testing.T) {
	t.Parallel()
	all := map[string]shape.Shape{
		"namespace.yaml": kind(), "config.yaml": configMap(), "service.yaml": service(), "server.yaml": statefulSet(), "worker.yaml": statefulSet(), "network.yaml": networkPolicy(),
	}
	used := parse(t, "kubernetes/kustomization.yaml", object("apiVersion", text(), "kind", text(), "resources", shape.List{Of: text()})).Get("resources")
	var names []string
	for _, v := range used.Items() {
		names = append(names, v.Text)
	}
	for name, as := range all {
		if !slices.Contains(names, name) {
			t.Errorf("%s isn't used", name)
		}
		parse(t, "kubernetes/"+name, as)
	}
	if len(names) != len(all) {
		t.Errorf("%v", names)
	}
	for _, name := range []string{"server.yaml", "worker.yaml"} {
		spec := parse(t, "kubernetes/"+name, statefulSet()).Get("spec").Get("template").Get("spec")
		if spec.Get("securityContext").Get("runAsNonRoot").Text != "true" || spec.Get("automountServiceAccountToken").Text != "false" {
			t.Errorf("%s: it runs as root, or with a token of the cluster", name)
		}
		for _, c := range spec.Get("containers").Items() {
			s := c.Get("securityContext")
			if s.Get("readOnlyRootFilesystem").Text != "true" || s.Get("allowPrivilegeEscalation").Text != "false" || fmt.Sprint(s.Get("capabilities").Get("drop").Items()[0].Text) != "ALL" {
				t.Errorf("%s: %s is held less than it can be", name, c.Get("name").Text)
			}
		}
	}
	compose := parse(t, "docker/compose.yaml", composeFile())
	if server := compose.Get("services").Get("server"); server.Get("network_mode").Text != "host" || server.Get("cap_drop").Items()[0].Text != "ALL" {
		t.Error("the server of the compose file")
	}
	if compose.Get("services").Get("database").Get("network_mode").Text != "none" {
		t.Error("others reach the database of the compose file")
	}
}
