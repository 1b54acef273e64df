package authority

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"
)

func TestAuthority(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	a, err := New([]string{"api.example", "other.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.PEM()) {
		t.Fatal("no certificate")
	}
	for _, host := range []string{"api.example", "other.example"} {
		leaf := parse(t, a.Certificate(host))
		for _, at := range []time.Time{now.Add(-early + time.Minute), now, now.Add(lifetime - time.Minute)} {
			if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: at}); err != nil {
				t.Errorf("%s at %v: %v", host, at, err)
			}
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now.Add(lifetime + time.Minute)}); err == nil {
			t.Error("it never ends")
		}
	}
	if a.Certificate("evil.example") != nil {
		t.Error("a certificate for a host that isn't ours")
	}
}

// Addresses are vouched for like names, and only those.
func TestAddresses(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, hosts := range [][]string{{"192.0.2.1"}, {"2001:db8::1"}, {"api.example", "192.0.2.1"}} {
		a, err := New(hosts, now)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(a.PEM())
		for _, host := range hosts {
			if _, err := parse(t, a.Certificate(host)).Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
		for _, host := range []string{"evil.example", "192.0.2.2", "2001:db8::2"} {
			notBelieved(t, hosts, host, now)
		}
	}
}

// TestConstraints signs with the authority's own key what it would never sign:
// nobody believes it.
func TestConstraints(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, host := range []string{"evil.example", "192.0.2.1", "2001:db8::1"} {
		notBelieved(t, []string{"api.example"}, host, now)
	}
}

// notBelieved signs host with the key of an authority for hosts.
func notBelieved(t *testing.T, hosts []string, host string, now time.Time) {
	t.Helper()
	root, key, err := makeRoot(hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	cert := &x509.Certificate{NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature}
	if ip := net.ParseIP(host); ip != nil {
		cert.IPAddresses = []net.IP{ip}
	} else {
		cert.DNSNames = []string{host}
	}
	der, err := sign(cert, root, key, key)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := forged.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err == nil {
		t.Errorf("a certificate of %q for %s is believed", hosts, host)
	}
}

func parse(t *testing.T, c *tls.Certificate) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
