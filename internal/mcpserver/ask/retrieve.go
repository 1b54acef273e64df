package ask

import (
	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

// Retrieve is the input of retrieve_context.
type Retrieve struct {
	ArtifactID string `json:"artifactId" jsonschema:"of an answer that has one, or the taskId of a command"`
	Stream     string `json:"stream,omitzero" jsonschema:"stdout unless given; combined is both in order of arrival"`
	Offset     *int64 `json:"offset,omitzero" jsonschema:"first byte to read: 0, or nextOffset of the page before"`
	Limit      *int64 `json:"limit,omitzero" jsonschema:"most characters (bytes with raw) on this page; 50000 unless given"`
	Raw        bool   `json:"raw,omitzero" jsonschema:"exact bytes: base64 where they aren't UTF-8"`
	WaitMs     *int64 `json:"waitMs,omitzero" jsonschema:"wait so long for more at offset when there is none yet; more than 45000 waits 45000"`
}

func (in Retrieve) output() Output {
	return Output{TaskID: in.ArtifactID, Stream: in.Stream, Offset: in.Offset, Limit: in.Limit, Raw: in.Raw, WaitMs: in.WaitMs}
}

func (Retrieve) Bounds(p map[string]*jsonschema.Schema) {
	oneOf(p["stream"], streams...)
	atLeast(p["offset"], 0)
	within(p["limit"], 1, paddock.MaxPage)
	atLeast(p["waitMs"], 0)
}

func (in Retrieve) Check() error {
	if in.ArtifactID == "" {
		return invalid("artifactId is missing; want that of an answer, or a taskId")
	}
	return in.output().Check()
}

// Page returns the page that is asked for, and a note when it is waited for less
// long than asked.
func (in Retrieve) Page() (req paddock.PageRequest, note string) { return in.output().Page() }

// NoArtifact is the refusal for every artifact that isn't the caller's, whatever
// there is under its id.
func NoArtifact() *paddock.Refusal {
	r := paddock.Refused(paddock.NotFound, "there is no such artifact of yours")
	r.Hint = "Give the artifactId of an answer, or a taskId; command_list lists your tasks."
	return r
}
