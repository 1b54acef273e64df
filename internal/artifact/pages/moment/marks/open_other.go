//go:build !unix

package marks

const noFollow = 0
