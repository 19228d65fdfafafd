package lab

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
)

// StoreFault is how an object store refuses requests: with a status and S3's error document.
type StoreFault struct {
	Status        int
	Code, Message string
	// Matches reports which requests are refused; nil refuses all.
	Matches func(*http.Request) bool
}

// errorDocument is the body of an error of S3 (Amazon S3 API reference, "Error responses").
const errorDocument = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>%s</Code><Message>%s</Message><RequestId>lab</RequestId><HostId>lab</HostId></Error>`

// NewFaultyStore returns a handler that stands before the S3 server: what the fault does not match passes. Whoever
// serves the handler chooses between HTTP and TLS.
func (l *Lab) NewFaultyStore(fault StoreFault) http.Handler {
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", l.s3.address
			r.Out.Host = r.In.Host // the host is part of what is signed
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault.Status == 0 || fault.Matches != nil && !fault.Matches(r) {
			pass.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(fault.Status)
		if r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, errorDocument, fault.Code, fault.Message)
		}
	})
}

// StartSilentServer starts a server with the error log switched off: clients break TLS handshakes off.
func StartSilentServer(handler http.Handler, overTLS bool) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if overTLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	return server
}
