//go:build !embed_stage

package stages

// embedded is the supervisor's binary that release builds carry inside.
var embedded []byte

// embeddedDigest is its digest.
var embeddedDigest string
