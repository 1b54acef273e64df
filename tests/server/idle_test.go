//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// What a server holds that does nothing, and how soon it is there. It is the program that
// is installed, with its database.
func TestIdle(t *testing.T) {
	if *binary == "" {
		t.Skip("-server names the program: make bench-server")
	}
	var ready, resident, own []float64
	for range 5 {
		dir := t.TempDir()
		cmd := testproc.Command(t, *binary, "serve", "--json", "--listen", "127.0.0.1:0", "--state", filepath.Join(dir, "state"))
		cmd.Env = []string{"HOME=" + dir}
		log := &bytes.Buffer{}
		cmd.Stderr = log
		out, err := cmd.StdoutPipe()
		must(t, err)
		begun := time.Now()
		must(t, cmd.Start())
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		ready = append(ready, milliseconds(time.Since(begun)))
		resident = append(resident, mebibytes(t, cmd.Process.Pid, "Rss:"))
		own = append(own, mebibytes(t, cmd.Process.Pid, "Pss:"))
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		_, _ = io.Copy(io.Discard, out) // to its end
		must(t, cmd.Wait())
	}
	tell(t, "from the start of a new server until it serves", ready)
	if middle := slices.Sorted(slices.Values(ready))[len(ready)/2]; middle >= 1000 {
		t.Errorf("it serves after %.0f ms, and should within a second", middle)
	}
	t.Logf("an idle server: RSS %.1f MiB, PSS %.1f MiB", resident, own)
	keep(t, "an idle server, RSS in MiB", resident)
	keep(t, "an idle server, PSS in MiB", own)
}

// mebibytes is a sum of /proc/PID/smaps_rollup.
func mebibytes(t *testing.T, pid int, what string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == what {
			n, err := strconv.ParseFloat(words[1], 64)
			must(t, err)
			return n / 1024
		}
	}
	t.Fatalf("no %s", what)
	return 0
}
