package testbed

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"

	"k8s.io/client-go/rest"
)

// NewProxy returns a handler that passes each request on to the API server of a configuration, as the user of that
// configuration and at once. A test serves it behind its own handler, which may answer in place of the API server.
func NewProxy(config *rest.Config) (*httputil.ReverseProxy, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Authorization") },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}, nil
}

// NewPlainProxy is [NewProxy] with answers that are not compressed, so that they can be changed.
func NewPlainProxy(config *rest.Config) (*httputil.ReverseProxy, error) {
	proxy, err := NewProxy(config)
	if err != nil {
		return nil, err
	}
	pass := proxy.Rewrite
	proxy.Rewrite = func(r *httputil.ProxyRequest) { pass(r); r.Out.Header.Del("Accept-Encoding") }
	return proxy, nil
}

// ServerConfig returns a configuration, without a user, that leads to a server of a test.
func ServerConfig(server *httptest.Server) *rest.Config {
	config := &rest.Config{Host: server.URL}
	if certificate := server.Certificate(); certificate != nil {
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	}
	return config
}

// CloseServer ends all connections of a server, and the server.
func CloseServer(server *httptest.Server) {
	server.CloseClientConnections()
	server.Close()
}
