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
		{reflect.TypeFor[document.File](), "Roots Executables Rules Environment Secrets Redact Limits Retention Quotas Containment Git " +
			"Extends Says Narrow Tests Accept Sections"}, // the first three as a whole, the others permit nothing
		{reflect.TypeFor[paddock.Given](), "Secret File To"},
		{reflect.TypeFor[paddock.Limits](), "Timeout Output Idle OpenFiles Memory Processes CPUs Disk FileSize " +
			"AtLimit MemoryByDefault ProcessesByDefault DiskByDefault"}, // with what they are of
		{reflect.TypeFor[paddock.Quotas](), "Principal Total"},
		{reflect.TypeFor[paddock.Quota](), "RunsPerHour RunsPerDay OutputPerDay CPUPerDay Kept"},
		{reflect.TypeFor[paddock.ContainAs](), "Level Network Reach Inject Read Write RunAs Exec Executes Workspace Deeper " +
			"ReadOnly Account"}, // the git tools' own, and looked up on the machine
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
