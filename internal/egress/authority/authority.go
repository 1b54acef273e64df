// Package authority is a certificate authority for one run: it vouches for the
// hosts into whose requests the egress proxy injects a credential, to the one
// run that is told to trust it.
//
// # Limits
//
// Its key exists only in memory and is never given out. Name constraints keep
// what it signs to the hosts it was made for, so that even its key would be
// worth nothing elsewhere. It can't revoke: it is forgotten with its run.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// The certificates are valid from a little before they are made, because
// clocks differ, for longer than any run.
const (
	early    = time.Hour
	lifetime = 30 * 24 * time.Hour
)

var everyAddress = []*net.IPNet{
	{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
	{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
}

// An Authority holds a certificate for each of its hosts.
type Authority struct {
	pem    []byte
	leaves map[string]*tls.Certificate
}

// New makes an authority for hosts, which are normalised names and addresses.
func New(hosts []string, now time.Time) (*Authority, error) {
	root, key, err := makeRoot(hosts, now)
	if err != nil {
		return nil, err
	}
	a := &Authority{
		pem:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}),
		leaves: map[string]*tls.Certificate{},
	}
	for _, h := range hosts {
		if a.leaves[h], err = leaf(h, root, key); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func makeRoot(hosts []string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		Subject:                     pkix.Name{CommonName: "Paddock, for one run"},
		NotBefore:                   now.Add(-early),
		NotAfter:                    now.Add(lifetime),
		KeyUsage:                    x509.KeyUsageCertSign,
		BasicConstraintsValid:       true,
		IsCA:                        true,
		MaxPathLenZero:              true,
		PermittedDNSDomainsCritical: true,
	}
	// A kind of name that isn't constrained is allowed.
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.PermittedIPRanges = append(template.PermittedIPRanges, only(ip))
		} else {
			template.PermittedDNSDomains = append(template.PermittedDNSDomains, host)
		}
	}
	if template.PermittedDNSDomains == nil {
		template.PermittedDNSDomains = []string{"invalid"} // RFC 2606: nobody's
	}
	if template.PermittedIPRanges == nil {
		template.ExcludedIPRanges = everyAddress
	}
	der, err := sign(template, template, key, key)
	if err != nil {
		return nil, nil, err
	}
	// Read back, because what signs must carry the identifier of its key.
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("read a certificate: %w", err)
	}
	return root, key, nil
}

// only is the range that has just this address.
func only(ip net.IP) *net.IPNet {
	if four := ip.To4(); four != nil {
		ip = four
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

func leaf(host string, root *x509.Certificate, rootKey *ecdsa.PrivateKey) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	cert := &x509.Certificate{
		NotBefore:             root.NotBefore,
		NotAfter:              root.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		cert.IPAddresses = []net.IP{ip}
	} else {
		cert.DNSNames = []string{host}
	}
	der, err := sign(cert, root, key, rootKey)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func sign(cert, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	cert.SerialNumber = serial.Add(serial, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return der, nil
}

// PEM returns the certificate that the run is told to trust.
func (a *Authority) PEM() []byte { return append([]byte(nil), a.pem...) }

// Certificate returns the certificate of a host; nil if it isn't one of ours.
func (a *Authority) Certificate(host string) *tls.Certificate { return a.leaves[host] }
