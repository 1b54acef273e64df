// Package answer is what clients are told: results and refusals as structured
// content, and the same in words for clients that show models nothing else.
//
// # Limits
//
// The package asks nobody anything: it turns values into other values. Secrets,
// and paths that a principal may not know, must not be in what it is given.
package answer
