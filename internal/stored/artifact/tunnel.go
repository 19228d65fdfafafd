package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/veltui/veltui/internal/sanitize"
)

// Tunnel opens connections to ports of pods.
type Tunnel interface {
	// DialPod connects to a port of a pod. ctx bounds only the dialling.
	DialPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error)
}

// apiServerTunnel does what kubectl port-forward does, without a local port, with a protected configuration
// ([session.ProtectConfig]).
type apiServerTunnel struct{ config *rest.Config }

func (t apiServerTunnel) DialPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	modern, old, err := t.newDialers(namespace, pod)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(modern, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	// The libraries take no context: a dial that nobody waits for any longer is closed when it returns.
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, 1)
	go func() {
		conn, err := openPort(dialer, port)
		results <- result{conn, err}
	}()
	select {
	case r := <-results:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-results; r.conn != nil {
				_ = r.conn.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// newDialers returns a dialer for SPDY in a websocket, and one for plain SPDY: before Kubernetes 1.31, or through a
// proxy without websockets.
func (t apiServerTunnel) newDialers(namespace, pod string) (modern, old httpstream.Dialer, err error) {
	config := rest.CopyConfig(t.config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	base, version, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing a port-forward: %w", err)
	}
	to := base.JoinPath(version, "namespaces", namespace, "pods", pod, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing a port-forward: %w", err)
	}
	old = spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	// Without a logger of its own, the library may log the data.
	modern, err = portforward.NewSPDYOverWebsocketDialerForStreamingWithLogger(logr.Discard(), to, t.config)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing a port-forward: %w", err)
	}
	return modern, old, nil
}

// openPort dials and opens the pair of streams that make one connection.
func openPort(dialer httpstream.Dialer, port int32) (net.Conn, error) {
	session, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("opening a port-forward: %w", err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = session.Close()
		return nil, fmt.Errorf("opening a port-forward: the server speaks %q", sanitize.String(protocol))
	}
	c := &forwardedConn{session: session, close: sync.OnceValue(session.Close), port: port, failed: make(chan struct{})}
	if err := c.openStreams(); err != nil {
		_ = session.Close()
		return nil, err
	}
	return c, nil
}

// forwardedConn is a connection to a pod's port. A second stream carries the kubelet's error, such as that nothing
// listens there.
type forwardedConn struct {
	session httpstream.Connection
	close   func() error
	data    httpstream.Stream
	port    int32

	// failed is closed when the second stream has ended; then reason is set.
	failed chan struct{}
	reason string
}

func (c *forwardedConn) openStreams() error {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(c.port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	complaints, err := c.session.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("opening a port-forward: %w", err)
	}
	_ = complaints.Close() // nothing more is sent on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if c.data, err = c.session.CreateStream(headers); err != nil {
		return fmt.Errorf("opening a port-forward: %w", err)
	}
	go func() {
		defer close(c.failed)
		text, _ := io.ReadAll(io.LimitReader(complaints, 4096))
		c.reason = strings.TrimSpace(string(text))
	}()
	return nil
}

// Read waits a moment for the reason when the stream ends: the two streams may end in any order.
func (c *forwardedConn) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	select {
	case <-c.failed:
		if c.reason != "" {
			return 0, fmt.Errorf("port %d of the pod: %s", c.port, sanitize.Truncate(c.reason, 300))
		}
	case <-time.After(time.Second):
	}
	return 0, err
}

func (c *forwardedConn) Write(p []byte) (int, error) { return c.data.Write(p) }

// Close ends the whole session, which carries only this connection.
func (c *forwardedConn) Close() error { return c.close() }

func (c *forwardedConn) LocalAddr() net.Addr  { return podAddress("API server") }
func (c *forwardedConn) RemoteAddr() net.Addr { return podAddress("port " + strconv.Itoa(int(c.port))) }

// errNoDeadline is returned because the streams have no deadlines; closing ends a download.
var errNoDeadline = errors.New("a forwarded connection does not support deadlines")

func (c *forwardedConn) SetDeadline(time.Time) error      { return errNoDeadline }
func (c *forwardedConn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (c *forwardedConn) SetWriteDeadline(time.Time) error { return errNoDeadline }

type podAddress string

func (podAddress) Network() string  { return "port-forward" }
func (a podAddress) String() string { return string(a) }
