package answer

import "paddock"

// An Artifact is the result of retrieve_context.
type Artifact struct {
	ArtifactID paddock.RunID  `json:"artifactId"`
	Stream     paddock.Stream `json:"stream"`
	Content    string         `json:"content"`
	Encoding   string         `json:"encoding" jsonschema:"utf-8 or base64"`
	Offset     int64          `json:"offset" jsonschema:"first byte of this page"`
	NextOffset int64          `json:"nextOffset" jsonschema:"first byte of the next page"`
	TotalSize  int64          `json:"totalSize" jsonschema:"bytes there are so far"`
	HasMore    bool           `json:"hasMore" jsonschema:"there is more to read now"`
	EOF        bool           `json:"eof" jsonschema:"nothing will be added, and this page is the last"`
	Note       string         `json:"note,omitzero"`
	Counters
}

// NewArtifact shows a page.
func NewArtifact(id paddock.RunID, page paddock.Page, c Counters) Artifact {
	return Artifact{
		ArtifactID: id, Stream: page.Stream, Content: page.Content, Encoding: page.Encoding, Offset: page.Offset,
		NextOffset: page.NextOffset, TotalSize: page.Total, HasMore: page.NextOffset < page.Total, EOF: page.EOF, Counters: c,
	}
}
