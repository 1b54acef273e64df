//go:build linux

package partition_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/testproc"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// papers makes a certificate for all machines, which vouches for itself.
func papers(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	as := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "partition"}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	for _, at := range places {
		as.IPAddresses = append(as.IPAddresses, net.ParseIP(at))
	}
	der, err := x509.CreateCertificate(rand.Reader, as, as, &secret.PublicKey, secret)
	must(t, err)
	bytes, err := x509.MarshalPKCS8PrivateKey(secret)
	must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, os.WriteFile(cert, text, 0o644))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}), 0o600))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return cert, key, pool
}

// A database is a PostgreSQL at a machine of the network.
type database struct {
	t        *testing.T
	net      *network
	at       string // the machine
	dir, bin string
	word     string // of everybody
	cmd      *testproc.Cmd
	hosts    string // of clients
	ca       string
}

// nobody are the words before a command that has it run as an ordinary user.
func nobody(args ...string) []string {
	id := fmt.Sprint(testproc.Nobody)
	return append([]string{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups", "--"}, args...)
}

func run(t *testing.T, args ...string) {
	t.Helper()
	cmd := testproc.Command(t, args[0], args[1:]...)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// newDatabase makes a database at db. Nothing is lost of it when its processes are
// killed; a machine that loses power isn't played, so nothing is synced.
func newDatabase(t *testing.T, n *network, dir, cert, key string) *database {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	must(t, err)
	if len(bins) == 0 {
		testproc.Skip(t, "there is no PostgreSQL: install the package postgresql")
	}
	slices.Sort(bins)
	d := &database{t: t, net: n, at: "db", dir: filepath.Join(dir, "pg"), bin: bins[len(bins)-1], word: rand.Text(), ca: cert, hosts: places["db"] + ":5432," + places["db2"] + ":5432"}
	must(t, os.Mkdir(d.dir, 0o700))
	for name, from := range map[string]string{"cert.pem": cert, "key.pem": key} {
		text, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(d.dir, name), text, 0o600))
	}
	must(t, os.WriteFile(filepath.Join(d.dir, "word"), []byte(d.word+"\n"), 0o600))
	for _, name := range []string{"sockets-db", "sockets-db2"} {
		must(t, os.Mkdir(filepath.Join(d.dir, name), 0o700))
	}
	for _, name := range []string{"", "cert.pem", "key.pem", "word", "sockets-db", "sockets-db2"} {
		must(t, os.Chown(filepath.Join(d.dir, name), testproc.Nobody, testproc.Nobody))
	}
	data := d.data("db")
	run(t, nobody(filepath.Join(d.bin, "initdb"), "-D", data, "-U", "boss", "--pwfile", filepath.Join(d.dir, "word"), "--auth", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale", "C")...)
	hba, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(hba, "hostssl all all %s0/24 scram-sha-256\nhostssl replication all %s0/24 scram-sha-256\n", subnet, subnet)
	must(t, err)
	must(t, hba.Close())
	d.start()
	boss := d.socket("boss", "postgres")
	storetest.Do(t, boss, "CREATE ROLE server LOGIN PASSWORD '"+d.word+"'")
	storetest.Do(t, boss, "CREATE ROLE worker LOGIN PASSWORD '"+d.word+"'")
	storetest.Do(t, boss, "CREATE DATABASE paddock OWNER server")
	return d
}

// sockets is where those are who are on its machine.
func (d *database) sockets() string { return filepath.Join(d.dir, "sockets-"+d.at) }

func (d *database) data(at string) string { return filepath.Join(d.dir, at) }

// socket is an address on the database's machine.
func (d *database) socket(user, name string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, d.word), Path: "/" + name, RawQuery: url.Values{"host": {d.sockets()}}.Encode()}
	return u.String()
}

// address is that of clients on other machines.
func (d *database) address(user string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, d.word), Host: d.hosts, Path: "/paddock",
		RawQuery: url.Values{"sslmode": {"verify-full"}, "sslrootcert": {d.ca}, "target_session_attrs": {"read-write"}, "connect_timeout": {"3"}}.Encode()}
	return u.String()
}

// allow gives the workers' user its rights.
func (d *database) allow() {
	for _, right := range postgres.WorkerRights {
		storetest.Do(d.t, d.socket("server", "paddock"), strings.Replace(right, "ROLE", "worker", 1))
	}
}

// start starts it where it is, and returns when it takes connections.
func (d *database) start() {
	d.t.Helper()
	args := append(d.net.enter(d.at), nobody(filepath.Join(d.bin, "postgres"), "-D", d.data(d.at), "-k", d.sockets(),
		"-c", "listen_addresses="+places[d.at], "-c", "max_connections=100", "-c", "shared_buffers=32MB", "-c", "fsync=off", "-c", "ssl=on",
		"-c", "ssl_cert_file="+filepath.Join(d.dir, "cert.pem"), "-c", "ssl_key_file="+filepath.Join(d.dir, "key.pem"), "-c", "max_wal_senders=4")...)
	cmd := testproc.Command(d.t, args[0], args[1:]...)
	cmd.Dir, cmd.Env = d.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	out, err := os.OpenFile(filepath.Join(d.dir, "log-"+d.at), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(d.t, err)
	cmd.Stdout, cmd.Stderr = out, out
	from, err := out.Seek(0, 2)
	must(d.t, err)
	must(d.t, cmd.Start())
	must(d.t, out.Close())
	d.cmd = cmd
	until(d.t, "the database takes connections", func() string { return d.ready(from) })
}

// ready looks for that in its log.
func (d *database) ready(from int64) string {
	f, err := os.Open(filepath.Join(d.dir, "log-"+d.at))
	must(d.t, err)
	defer f.Close()
	_, err = f.Seek(from, 0)
	must(d.t, err)
	var last string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if last = lines.Text(); strings.Contains(last, "ready to accept connections") || strings.Contains(last, "ready to accept read-only connections") {
			return ""
		}
	}
	return "its log ends with " + last
}

// stop ends it at once, as pg_ctl -m immediate does: without a word to anybody.
func (d *database) stop() {
	d.t.Helper()
	must(d.t, d.cmd.Process.Signal(syscall.SIGQUIT))
	_ = d.cmd.Wait() // it was told to end
}
