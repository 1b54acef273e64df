//go:build linux

package server_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"paddock/internal/testproc"
)

// The same of BullMQ on a Redis of our own that makes every write durable before it
// answers, as we do. Its worker is in the process that asks; ours is too.
func TestBullMQ(t *testing.T) {
	if *bullmq == "" {
		t.Skip("-bullmq names a directory with it: make bench-server")
	}
	redis, node := "/usr/bin/redis-server", "/usr/bin/node"
	for _, program := range []string{redis, node, filepath.Join(*bullmq, "node_modules", "bullmq")} {
		if _, err := os.Stat(program); err != nil {
			t.Skip("not installed: ", program)
		}
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server := testproc.Command(t, redis, "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no")
	must(t, server.Start())
	defer func() {
		must(t, server.Process.Kill())
		_ = server.Wait() // it was killed
	}()
	for {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
		if err == nil {
			must(t, c.Close())
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	script, err := filepath.Abs("testdata/bullmq.mjs")
	must(t, err)
	cmd := testproc.Command(t, node, script, *bullmq, socket, strconv.Itoa(sized(300, 3)))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	var took struct {
		Answered, Began, Over []float64
		Version               string
	}
	must(t, json.Unmarshal(out, &took))
	tell(t, "BullMQ "+took.Version+", appendfsync always: add answered", took.Answered)
	tell(t, "BullMQ "+took.Version+": add to the processor that has the job", took.Began)
	tell(t, "BullMQ "+took.Version+": add to the end of true, started by it", took.Over)
}
