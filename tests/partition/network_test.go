//go:build linux

package partition_test

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

// Where everybody is.
const (
	subnet = "10.77.0."
	hubIP  = subnet + "1"
)

var places = map[string]string{
	"db": subnet + "10", "db2": subnet + "11", "s1": subnet + "21", "s2": subnet + "22",
	"w1": subnet + "31", "w2": subnet + "32", "w3": subnet + "33", "w4": subnet + "34",
}

// A network is a namespace for each machine, all of which are joined by a bridge in one
// more, where the test itself asks.
type network struct {
	t      *testing.T
	prefix string
	made   []string
}

// make makes it, or skips where that isn't allowed.
func (n *network) make() {
	t := n.t
	t.Helper()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "network namespaces are made by root")
	}
	if out, err := n.try("netns", "add", n.ns("hub")); err != nil {
		testproc.Skip(t, "no network namespace can be made here: "+out)
	}
	n.made = append(n.made, "hub")
	n.in("hub", "link", "add", "br0", "type", "bridge")
	n.in("hub", "addr", "add", hubIP+"/24", "dev", "br0")
	n.in("hub", "link", "set", "br0", "up")
	for name, at := range places {
		n.ip("netns", "add", n.ns(name))
		n.made = append(n.made, name)
		n.in("hub", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", n.ns(name))
		n.in("hub", "link", "set", name, "master", "br0", "up")
		n.in(name, "link", "set", "lo", "up")
		n.in(name, "addr", "add", at+"/24", "dev", "eth0")
		n.in(name, "link", "set", "eth0", "up")
	}
}

// remove takes the namespaces away.
func (n *network) remove() {
	for _, name := range n.made {
		if out, err := n.try("netns", "del", n.ns(name)); err != nil {
			n.t.Errorf("the namespace %s stays: %s", name, out)
		}
	}
}

func (n *network) ns(name string) string { return n.prefix + name }

func (n *network) try(args ...string) (string, error) {
	out, err := testproc.Command(n.t, "ip", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := n.try(args...); err != nil {
		n.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

func (n *network) in(name string, args ...string) {
	n.t.Helper()
	n.ip(append([]string{"-n", n.ns(name)}, args...)...)
}

// enter are the words before a command that has it run at a machine.
func (n *network) enter(name string) []string {
	return []string{"nsenter", "--net=/run/netns/" + n.ns(name)}
}

// cut takes the machine's cable out, and join puts it in again.
func (n *network) cut(name string)  { n.t.Helper(); n.in("hub", "link", "set", name, "down") }
func (n *network) join(name string) { n.t.Helper(); n.in("hub", "link", "set", name, "up") }

// deafen lets nothing arrive at a machine any more that it goes on sending: the bridge is
// told that it is where nobody is. hear ends that.
func (n *network) deafen(name string) {
	n.t.Helper()
	n.bridge("replace", name, "lost")
}

func (n *network) hear(name string) { n.t.Helper(); n.bridge("del", name, "lost") }

func (n *network) bridge(verb, name, port string) {
	n.t.Helper()
	mac, err := n.try("-n", n.ns(name), "-br", "link", "show", "eth0")
	fields := strings.Fields(mac)
	if err != nil || len(fields) < 3 {
		n.t.Fatalf("the address of %s: %q, %v", name, mac, err)
	}
	if out, _ := n.try("-n", n.ns("hub"), "link", "show", port); strings.Contains(out, "does not exist") {
		n.in("hub", "link", "add", port, "type", "veth", "peer", "name", port+"2") // nobody is at its other end
		n.in("hub", "link", "set", port, "master", "br0", "up")
	}
	cmd := testproc.Command(n.t, "bridge", "-n", n.ns("hub"), "fdb", verb, fields[2], "dev", port, "master", "static", "sticky")
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("bridge fdb %s %s: %v: %s", verb, name, err, out)
	}
}

// slow makes what a machine is sent late and lossy where the kernel can, and little at a
// time where it can't; fast ends that. It says which.
func (n *network) slow(name string) (how string) {
	n.t.Helper()
	for _, how := range []string{"netem delay 80ms 40ms loss 3%", "tbf rate 300kbit burst 3000 latency 600ms"} {
		args := append([]string{"-n", n.ns("hub"), "qdisc", "replace", "dev", name, "root"}, strings.Fields(how)...)
		if testproc.Command(n.t, "tc", args...).Run() == nil {
			return how
		}
	}
	n.t.Log("the kernel can make no network slow")
	return ""
}

func (n *network) fast(name string) {
	n.t.Helper()
	if out, err := testproc.Command(n.t, "tc", "-n", n.ns("hub"), "qdisc", "del", "dev", name, "root").CombinedOutput(); err != nil {
		n.t.Errorf("tc: %v: %s", err, out)
	}
}

// dial connects from where the bridge is.
func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	type answer struct {
		conn net.Conn
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and nobody else gets into the namespace
		there, err := os.Open("/run/netns/" + n.ns("hub"))
		if err != nil {
			got <- answer{nil, err}
			return
		}
		err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)
		_ = there.Close()
		if err != nil {
			got <- answer{nil, err}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		got <- answer{conn, err}
	}()
	a := <-got
	return a.conn, a.err
}
