package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock"
)

// A model is told what was dropped, of a run and at the end of a page, in the same
// words.
func TestLosses(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	loss := paddock.Loss{Stream: paddock.Stdout, Offset: 5, Bytes: 4, First: at, Last: at.Add(time.Second), Cause: paddock.ReasonQuota}
	run := paddock.Run{State: paddock.Running, Stdout: paddock.StreamSummary{Bytes: 5, Dropped: 4, Loss: &loss}}
	status := NewStatus(run, "", Counters{})
	page := NewPage("", paddock.Page{Stream: paddock.Stdout, Losses: []paddock.Loss{loss}}, false, Counters{})
	for _, told := range []any{status.Losses, page.Losses} {
		text, err := json.Marshal(told)
		if err != nil || !strings.Contains(string(text), `"stream":"stdout"`) || !strings.Contains(string(text), `"offset":5`) ||
			!strings.Contains(string(text), `"bytes":4`) || !strings.Contains(string(text), `"cause":"output_quota"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	if status.StdoutDropped != 4 {
		t.Errorf("%+v", status)
	}
}
