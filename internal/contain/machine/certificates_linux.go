package machine

import "os"

// bundles are files in which systems keep all certificates that they trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem", "/etc/pki/tls/cert.pem",
}

// Certificates returns those that this machine trusts, in PEM, and the files that
// hold them. Links are left out: what they lead to is among the files.
func (h Host) Certificates() (text []byte, places []string) {
	for _, path := range bundles {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text == nil {
			if text, err = os.ReadFile(path); err != nil {
				continue
			}
		}
		places = append(places, path)
	}
	return text, places
}
