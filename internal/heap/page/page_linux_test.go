//go:build !race

package page

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

var here []*[512]byte

// The heap goes on at the beginning of memory that large pages are asked for, where
// this kernel knows them, and what was skipped took none.
func TestTheHeapGoesOnOnALargePage(t *testing.T) {
	if next == 0 || next%large != 0 {
		t.Fatalf("a large page is asked for at %#x", next)
	}
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		t.Skip("this kernel has no large pages: ", err)
	}
	for range 8 << 10 { // 4 MiB: past whatever there was
		here = append(here, new([512]byte))
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, there := strings.Cut("\n"+string(text), fmt.Sprintf("\n%x-", next))
	if !there {
		t.Fatalf("no part of memory begins at %#x: nobody was asked", next)
	}
	var flags string
	for line := range strings.Lines(rest) {
		if f, is := strings.CutPrefix(line, "VmFlags:"); is {
			flags = f
			break
		}
	}
	if !strings.Contains(flags+" ", " hg ") && !strings.Contains(string(mode), "[never]") {
		t.Errorf("large pages aren't asked for there: %q", flags)
	}
	for _, b := range skipped {
		if len(b) > 0 && address(b) >= next {
			t.Errorf("%d bytes at %#x are skipped, and large pages begin at %#x", len(b), address(b), next)
		}
	}
}
