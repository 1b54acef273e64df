//go:build embed_stage

package stages

import _ "embed"

// embedded is the supervisor's binary for the same system, put in its place by
// `make release` before this is compiled.
//
//go:embed dist/paddock-stage
var embedded []byte
