package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

const (
	// validFor is how long certificates are valid: longer than any proxy stands there, and no
	// longer than clients accept.
	validFor = 365 * 24 * time.Hour
	// clockSkew is how much the clock of a client may be behind.
	clockSkew = time.Hour
)

// newAuthority makes a certificate authority that speaks for one host, and what it says of
// that host. Its own key is forgotten at once, so that it never says more.
func newAuthority(host string) (leaf *tls.Certificate, authority []byte, err error) {
	now := time.Now()
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber:          big.NewInt(now.UnixNano() + serial), // clients remember pairs of issuer and number
			Subject:               pkix.Name{CommonName: name, Organization: []string{"mcpconform proxy"}},
			NotBefore:             now.Add(-clockSkew),
			NotAfter:              now.Add(validFor),
			BasicConstraintsValid: true,
		}
	}
	root := template("authority of "+now.UTC().Format(time.RFC3339Nano), 0)
	root.IsCA, root.MaxPathLenZero, root.KeyUsage = true, true, x509.KeyUsageCertSign
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, nil, err
	}
	if root, err = x509.ParseCertificate(rootDER); err != nil { // with its key identifier
		return nil, nil, err
	}
	said := template("the server", 1)
	said.KeyUsage, said.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if address := net.ParseIP(host); address != nil {
		said.IPAddresses = []net.IP{address}
	} else {
		said.DNSNames = []string{host}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, said, root, key.Public(), rootKey)
	if err != nil {
		return nil, nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), nil
}
