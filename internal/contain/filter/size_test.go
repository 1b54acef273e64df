//go:build linux

package filter

import "testing"

func TestSize(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		for _, o := range []Options{{Network: "none"}, {Network: "none", TCPOnly: true}, {Network: "host", UnixSockets: true, Namespaces: true}} {
			o.Arch = arch
			f, err := Build(o)
			a := newAssembler()
			ar, _ := findArch(arch)
			t.Log(o, len(f.Program), len(a.spans(ar, o)), err)
		}
	}
}
