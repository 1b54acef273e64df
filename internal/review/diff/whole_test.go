package diff

import (
	"reflect"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy/compiled/document"
)

// What a policy can say is compared. Whoever adds a part to one of these compares
// it, or says here why that isn't needed.
func TestEverythingIsCompared(t *testing.T) {
	for _, part := range []struct {
		is   reflect.Type
		want string
	}{
		{reflect.TypeFor[document.File](), "Roots Executables Rules Environment Secrets Redact Limits Retention Quotas Approvals Containment Git " +
			"Extends Says Delegates Narrow Tests Accept Sections"}, // the first three as a whole, the others permit nothing
		{reflect.TypeFor[paddock.Given](), "Secret File To Provider"},
		{reflect.TypeFor[paddock.Limits](), "Timeout Output Idle OpenFiles Memory Processes CPUs Disk FileSize " +
			"AtLimit MemoryByDefault ProcessesByDefault DiskByDefault"}, // with what they are of
		{reflect.TypeFor[paddock.Quotas](), "Principal Total"},
		{reflect.TypeFor[paddock.Quota](), "RunsPerHour RunsPerDay OutputPerDay CPUPerDay Kept"},
		{reflect.TypeFor[paddock.ContainAs](), "Level Network Reach Inject Read Write RunAs Exec Executes Workspace Deeper " +
			"ReadOnly Real Account"}, // the git tools' own, and looked up on the machine
	} {
		known := strings.Fields(part.want)
		for i := range part.is.NumField() {
			name := part.is.Field(i).Name
			found := false
			for _, k := range known {
				found = found || k == name
			}
			if !found {
				t.Errorf("%s.%s isn't compared", part.is, name)
			}
		}
	}
}

// Who says a secret, and what he may, is compared.
func TestProvidersAreCompared(t *testing.T) {
	t.Parallel()
	policy := func(secret string) []byte {
		return []byte("version: 1\nroots: [{path: /srv}]\nexecutables: [{name: x, path: /x, args: any}]\nsecrets: {A: {" + secret + ", env_for: [x]}}\n")
	}
	pin := ", sha256: '" + strings.Repeat("a", 64) + "'"
	for _, c := range []struct {
		o, n string
		want Effect
		text string
	}{
		{"file: /f", "exec: [/say]", Widened, "/say is run to say it."},
		{"exec: [/say]", "exec: [/other]", Widened, "/other is run to say it."},
		{"exec: [/say]", "file: /f", Unclear, "It comes from another file or program."},
		{"exec: [/say, a]", "exec: [/say, b]", Unclear, "It comes from another file or program."},
		{"exec: [/say]", "exec: [/say], network: ['a.org:443']", Widened, "may reach a.org:443"},
		{"exec: [/say]", "exec: [/say], read: [/etc/x]", Widened, "may read /etc/x"},
		{"exec: [/say], read: [/etc/x]", "exec: [/say]", Narrowed, "may reach or read less"},
		{"exec: [/say]", "exec: [/say]" + pin, Unclear, "another content"},
		{"exec: [/say]", "exec: [/say], timeout: 1s", Unclear, "another time"},
		{"exec: [/say]", "exec: [/say], environment: {set: {B: c}}", Unclear, "other variables"},
	} {
		report, err := Compare(Source{Name: "o.yaml", Data: policy(c.o)}, Source{Name: "n.yaml", Data: policy(c.n)})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, one := range report {
			found = found || one.Effect == c.want && strings.Contains(one.Message, c.text)
		}
		if !found {
			t.Errorf("%s, %s: %+v", c.o, c.n, report)
		}
	}
}
