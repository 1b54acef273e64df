//go:build !unix

package artifact

const noFollow = 0
