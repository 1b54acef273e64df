package book

import (
	"strings"
	"testing"

	"paddock"
)

// A report of which something was dropped isn't told as a whole one.
func TestReportsThatArentWhole(t *testing.T) {
	t.Parallel()
	status := 0
	for _, c := range []struct {
		kept, dropped int64
		want          Status
		why           string
	}{{10, 0, Completed, ""}, {0, 0, Completed, ""}, {10, 7, Partial, "7 bytes weren't kept"}, {0, 7, Failed, "7 bytes weren't kept"}} {
		o := paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{ExitCode: &status}, Stdout: paddock.StreamSummary{Bytes: c.kept, Dropped: c.dropped}}
		if got, why := StatusOf(&o, c.kept > 0); got != c.want || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%+v is %s, %q", c, got, why)
		}
	}
}
