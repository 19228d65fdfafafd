package demo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of the kubeconfig's only context.
const contextName = "demo"

// openListeners opens two ports on loopback: one for the API, which needs TLS because clients send their token, and
// one for the object store, whose URLs are signed.
func (d *Demo) openListeners() error {
	for _, l := range []*net.Listener{&d.apiListener, &d.storeListener} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listening on loopback: %w", err)
		}
		*l = listener
	}
	return nil
}

// serveListener serves a listener until the demo is closed.
func (d *Demo) serveListener(ctx context.Context, l net.Listener, h http.Handler) {
	dated := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().
			Set("Date", d.options.Clock().UTC().Format(http.TimeFormat))
			// the cluster's clock, not the machine's
		h.ServeHTTP(w, r)
	})
	server := &http.Server{
		Handler: dated, ReadHeaderTimeout: 10 * time.Second,
		// Watches end with the demo.
		BaseContext: func(net.Listener) context.Context { return ctx },
		// Do not log clients that disconnect in the middle of a request.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	d.servers = append(d.servers, server)
	d.group.Go(func() { d.recordError(server.Serve(l)) })
}

// newCertificate creates a key and a self-signed certificate, valid for as long as a demo may run.
func newCertificate(now time.Time) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(
			1,
		),
		Subject:               pkix.Name{CommonName: "veltui demo"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(30 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority, nil
}

// enableTLS enables TLS for the API and writes a kubeconfig for it.
func (d *Demo) enableTLS(token string) error {
	own, authority, err := newCertificate(time.Now()) // clients check it by the machine's clock, not the cluster's
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	dir, err := os.MkdirTemp("", "veltui-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the kubeconfig: %w", err)
	}
	d.Dir, d.Kubeconfig = dir, filepath.Join(dir, "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{
		Server: "https://" + d.apiListener.Addr().String(), CertificateAuthorityData: authority,
	}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	if err := clientcmd.WriteToFile(*config, d.Kubeconfig); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	d.apiListener = tls.NewListener(d.apiListener, &tls.Config{
		Certificates: []tls.Certificate{own}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	})
	return nil
}
