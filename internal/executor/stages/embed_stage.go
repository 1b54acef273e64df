//go:build embed_stage

package stages

import _ "embed"

// embedded is the supervisor's binary for the same system, put in its place by
// `make release` before this is compiled.
//
//go:embed dist/paddock-stage
var embedded []byte

// embeddedDigest is its digest, which takes longer to make than a short run: 64
// hexadecimal digits. If it is wrong nothing starts, for what is unpacked is held
// to it.
//
//go:embed dist/paddock-stage.sha256
var embeddedDigest string
