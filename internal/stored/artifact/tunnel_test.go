package artifact

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// fakeTunnel connects to one address whatever pod it is asked for.
type fakeTunnel struct {
	to     string
	refuse map[string]error
	mu     sync.Mutex
	asked  []string
}

func (f *fakeTunnel) DialPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintf("%s/%s:%d", namespace, pod, port))
	f.mu.Unlock()
	if err := f.refuse[pod]; err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", f.to)
}

func (f *fakeTunnel) pods() string { return strings.Join(f.asked, " ") }

// unknown is a resolver that knows nobody, as a bastion's knows no Service.
func unknown(context.Context, string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
}

// expose makes a Service and pods behind it.
func (b *bed) expose(service string, spec corev1.ServiceSpec, pods ...*corev1.Pod) {
	b.t.Helper()
	spec.Selector = map[string]string{"app": service}
	b.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: service}, Spec: spec})
	for _, pod := range pods {
		pod.Namespace, pod.Labels = b.namespace, spec.Selector
		status := pod.Status
		b.create(pod)
		pod.Status = status
		if err := b.api.Status().Update(b.t.Context(), pod); err != nil {
			b.t.Fatal(err)
		}
	}
}

// onPort is the spec of a Service with one port.
func onPort(port int32, target intstr.IntOrString) corev1.ServiceSpec {
	return corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port, TargetPort: target}}}
}

func aPod(name string, ready bool) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{
			Name: "s3", Image: "s3", Ports: []corev1.ContainerPort{{Name: "s3", ContainerPort: 9000}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

// configure makes the location name a URL, as Velero's AWS plugin signs for.
func (b *bed) configure(s3URL string, ca []byte) {
	b.t.Helper()
	b.location.Spec.Config["s3Url"] = s3URL
	b.location.Spec.ObjectStorage.CACert = ca
	if err := b.api.Update(b.t.Context(), b.location); err != nil {
		b.t.Fatal(err)
	}
	b.sign = signURL(s3URL + "/bucket/x?X-Amz-Signature=" + secret)
}

func TestParseClusterHost(t *testing.T) {
	tests := []struct {
		host string
		want serviceHost
		ok   bool
	}{
		{"minio.store.svc", serviceHost{"minio", "store", "", true}, true},
		{"minio.store.svc.cluster.local", serviceHost{"minio", "store", "", true}, true},
		{"minio-0.minio.store.svc.corp.example", serviceHost{"minio", "store", "minio-0", true}, true},
		{"minio.store", serviceHost{"minio", "store", "", false}, true},
		{"minio", serviceHost{"minio", "velero", "", false}, true},
		{"s3.eu-west-1.amazonaws.com", serviceHost{}, false},
		{"10.0.0.1", serviceHost{}, false},
		{"::1", serviceHost{}, false},
		{"a.svc", serviceHost{"a", "svc", "", false}, true},
		{"_a.b.svc", serviceHost{}, false},
		{"..svc", serviceHost{}, false},
		{"", serviceHost{}, false},
	}
	for _, test := range tests {
		if got, ok := parseServiceHost(test.host, "velero"); got != test.want || ok != test.ok {
			t.Errorf("%s: %+v, %v", test.host, got, ok)
		}
	}
}

func TestPodsBehind(t *testing.T) {
	b := newBed(t, false, serve(nil))
	gone := aPod("a-gone", true)
	gone.Status.Phase = corev1.PodFailed
	b.expose(
		"named",
		onPort(80, intstr.FromString("s3")),
		gone,
		aPod("a-new", false),
		aPod("b-1", true),
		aPod("b-0", true),
	)
	b.expose("numbered", onPort(80, intstr.FromInt32(8080)), aPod("c-0", true))
	b.expose("same", onPort(9001, intstr.IntOrString{}), aPod("d-0", true))
	b.expose("headless", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}, aPod("h-0", true), aPod("h-1", true))
	b.expose("empty", onPort(80, intstr.FromInt32(1)))
	b.expose("unnamed", onPort(80, intstr.FromString("other")), aPod("e-0", true))
	b.create(
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "outside"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "manual"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		},
	)
	f := b.fetcher()
	tests := []struct {
		service, pod string
		port         int32
		want, says   string
	}{
		{"named", "", 80, "b-0:9000 b-1:9000", ""},
		{"named", "b-1", 80, "b-1:9000 b-0:9000", ""},
		{"numbered", "", 80, "c-0:8080", ""},
		{"same", "", 9001, "d-0:9001", ""},
		{"headless", "h-1", 1234, "h-1:1234 h-0:1234", ""},
		{"named", "", 81, "", "none of the 4 pods"},
		{"unnamed", "", 80, "", "none of the 1 pods"},
		{"empty", "", 80, "", "none of the 0 pods"},
		{"outside", "", 80, "", "outside the cluster"},
		{"manual", "", 80, "", "selects no pods"},
		{"nobody", "", 80, "", "no such Service"},
	}
	for _, test := range tests {
		got, err := f.findServicePods(
			t.Context(),
			serviceHost{service: test.service, namespace: b.namespace, pod: test.pod},
			test.port,
		)
		var names []string
		for _, p := range got {
			names = append(names, fmt.Sprintf("%s:%d", p.name, p.port))
		}
		if strings.Join(names, " ") != test.want || (err == nil) != (test.says == "") ||
			err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s:%d: %v, %v", test.service, test.port, names, err)
		}
	}
}

func TestStoreInsideTheCluster(t *testing.T) {
	body := zip("from inside")
	var host atomic.Pointer[string]
	handler := func(w http.ResponseWriter, r *http.Request) {
		host.Store(&r.Host)
		serve(body)(w, r)
	}
	inside := func(t *testing.T) (*bed, *fakeTunnel) {
		b := newBed(t, false, handler)
		b.expose("minio", onPort(80, intstr.FromString("s3")), aPod("minio-0", true), aPod("minio-1", true))
		tunnel := &fakeTunnel{to: b.store.Listener.Addr().String()}
		b.options.Tunnel = tunnel
		b.options.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("the proxy was asked for") }
		return b, tunnel
	}
	open := func(t *testing.T, b *bed) (*Stream, error) {
		f := b.fetcher()
		f.lookupHost = unknown
		s, err := f.Open(t.Context(), contents())
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { s.Close() })
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		return s, nil
	}
	for _, form := range []string{"http://minio.%s.svc", "http://minio.%s.svc.cluster.local", "http://minio.%s", "http://minio", "http://minio.%s.svc:80"} {
		t.Run(form, func(t *testing.T) {
			b, tunnel := inside(t)
			if strings.Contains(form, "%s") {
				form = fmt.Sprintf(form, b.namespace)
			}
			b.configure(form, nil)
			s, err := open(t, b)
			if err != nil {
				t.Fatal(err)
			}
			signed := strings.TrimPrefix(form, "http://")
			if *host.Load() != signed || s.route.Host != signed {
				t.Errorf("signed for %s; the store was asked as %s, route %+v", signed, *host.Load(), s.route)
			}
			if tunnel.pods() != b.namespace+"/minio-0:9000" ||
				!strings.HasPrefix(s.route.Via, "port-forward to pod "+b.namespace+"/minio-0:9000") {
				t.Errorf("tunnel to %s, route %+v", tunnel.pods(), s.route)
			}
		})
	}
	t.Run("a bucket before the host", func(t *testing.T) {
		b, _ := inside(t)
		b.configure("http://minio."+b.namespace+".svc", nil)
		b.sign = signURL("http://bucket.minio." + b.namespace + ".svc/x?sig=" + secret)
		if _, err := open(t, b); err != nil {
			t.Error(err)
		}
	})
	t.Run("the next pod", func(t *testing.T) {
		b, tunnel := inside(t)
		tunnel.refuse = map[string]error{"minio-0": errors.New("not this one")}
		b.configure("http://minio."+b.namespace+".svc", nil)
		s, err := open(t, b)
		if err != nil || !strings.Contains(s.route.Via, "minio-1") {
			t.Errorf("%v, asked %s", err, tunnel.pods())
		}
	})
	t.Run("no pod at all", func(t *testing.T) {
		b, tunnel := inside(t)
		tunnel.refuse = map[string]error{"minio-0": errors.New("first"), "minio-1": errors.New("second")}
		b.configure("http://minio."+b.namespace+".svc", nil)
		_, err := open(t, b)
		fails(t, err, nil, "minio-0", "first", "minio-1", "second")
	})
	t.Run("no Service", func(t *testing.T) {
		b, _ := inside(t)
		b.configure("http://other."+b.namespace+".svc", nil)
		_, err := open(t, b)
		fails(t, err, nil, "no such Service", "config.publicUrl of storage location main")
	})
	t.Run("a host that the location does not name", func(t *testing.T) {
		b, tunnel := inside(t)
		b.sign = signURL("http://minio." + b.namespace + ".svc/x?sig=" + secret)
		_, err := open(t, b)
		fails(t, err, ErrUnsafeURL, "no storage location that you may read names it")
		b.sign = signURL("http://minio." + b.namespace + ".svc:22/x?sig=" + secret)
		b.configureOnly("http://minio." + b.namespace + ".svc")
		_, err = open(t, b)
		fails(t, err, ErrUnsafeURL, "no storage location that you may read names it")
		if tunnel.pods() != "" {
			t.Errorf("forwarded to %s", tunnel.pods())
		}
	})
	t.Run("known here", func(t *testing.T) {
		b, tunnel := inside(t)
		b.options.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		b.configure(b.store.URL, nil)
		if _, err := open(t, b); err != nil || tunnel.pods() != "" {
			t.Errorf("%v, forwarded to %q", err, tunnel.pods())
		}
	})
	t.Run("known here but not answering", func(t *testing.T) {
		b, tunnel := inside(t)
		b.options.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		// It is dialled by name, which the real resolver does not know.
		b.configure("http://minio."+b.namespace+".svc", nil)
		f := b.fetcher()
		f.lookupHost = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("10.96.0.9")}, nil
		}
		s, err := f.Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if tunnel.pods() != b.namespace+"/minio-0:9000" || !strings.HasPrefix(s.route.Via, "port-forward") {
			t.Errorf("forwarded to %q, route %+v", tunnel.pods(), s.route)
		}
	})
}

// configureOnly changes the location and not what is signed.
func (b *bed) configureOnly(s3URL string) {
	b.t.Helper()
	sign := b.sign
	b.configure(s3URL, nil)
	b.sign = sign
}

// TLS goes end to end: the name in the handshake, and the one that is verified,
// is the one that was signed.
func TestTLSThroughTheTunnel(t *testing.T) {
	body := zip("from inside, over TLS")
	for _, right := range []bool{true, false} {
		b := newBed(t, false, serve(nil))
		name := "minio." + b.namespace + ".svc"
		subject := name
		if !right {
			subject = "another.svc"
		}
		certificate, ca := certificateFor(t, subject)
		var asked atomic.Pointer[string]
		store := httptest.NewUnstartedServer(serve(body))
		store.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		store.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			asked.Store(&hello.ServerName)
			return certificate, nil
		}}
		store.StartTLS()
		t.Cleanup(store.Close)
		b.expose("minio", onPort(443, intstr.FromString("s3")), aPod("minio-0", true))
		b.options.Tunnel = &fakeTunnel{to: store.Listener.Addr().String()}
		b.configure("https://"+name, ca)
		f := b.fetcher()
		f.lookupHost = unknown
		s, err := f.Open(t.Context(), contents())
		if !right {
			fails(t, err, nil, "is not valid", "another.svc")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, body) || s.route.PlainHTTP {
			t.Errorf("%d bytes, %v, route %+v", len(got), err, s.route)
		}
		s.Close()
		if *asked.Load() != name {
			t.Errorf("the handshake asked for %q", *asked.Load())
		}
	}
}

func certificateFor(t *testing.T, name string) (*tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{
			Certificate: [][]byte{der},
			PrivateKey:  key,
		}, pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: der},
		)
}

// kubelet answers port-forwards as a kubelet does (SPDY, a pair of streams for
// each connection), by connecting to one address.
type kubelet struct {
	t     *testing.T
	to    string
	paths chan string
	// complain is said on the error stream instead of connecting.
	complain string
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.paths <- r.URL.Path
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		k.t.Errorf("port-forward handshake: %v", err)
		return
	}
	streams := make(chan httpstream.Stream, 2)
	session := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if session == nil {
		return
	}
	defer session.Close()
	var data, complaints httpstream.Stream
	for data == nil || complaints == nil {
		select {
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				data = s
				k.paths <- "port " + s.Headers().Get(corev1.PortHeader)
			} else {
				complaints = s
			}
		case <-session.CloseChan():
			return
		}
	}
	if k.complain != "" {
		fmt.Fprint(complaints, k.complain)
	} else {
		conn, err := net.Dial("tcp", k.to)
		if err != nil {
			k.t.Error(err)
			return
		}
		defer conn.Close()
		go func() { _, _ = io.Copy(conn, data) }()
		_, _ = io.Copy(data, conn)
	}
	_ = data.Close()
	_ = complaints.Close()
	<-session.CloseChan()
}

// TestPortForward goes through the real API server to a stand-in kubelet.
func TestPortForward(t *testing.T) {
	body := zip(strings.Repeat("through the API server and a kubelet\n", 100_000))
	body = append(body, make([]byte, 4<<20)...)
	b := newBed(t, false, serve(body))
	k := &kubelet{t: t, to: b.store.Listener.Addr().String(), paths: make(chan string, 100)}
	server := httptest.NewTLSServer(k)
	t.Cleanup(server.Close)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	b.create(node)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(server.Listener.Addr().(*net.TCPAddr).Port)
	if err := b.api.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.api.Delete(context.Background(), node) })
	pod := aPod("minio-0", true)
	pod.Spec.NodeName = node.Name
	b.expose("minio", onPort(80, intstr.FromString("s3")), pod)
	b.configure("http://minio."+b.namespace+".svc", nil)
	f := b.fetcher()
	f.lookupHost = unknown

	began := time.Now()
	s, err := f.Open(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes of %d, %v", len(got), len(body), err)
	}
	s.Close()
	t.Logf("%d bytes in %s", len(got), time.Since(began))
	if path, port := <-k.paths, <-k.paths; !strings.EqualFold(path, "/portForward/"+b.namespace+"/minio-0") ||
		port != "port 9000" {
		t.Errorf("the kubelet was asked %s, %s", path, port)
	}

	// Cancelled in mid-stream, the whole way is given up.
	ctx, cancel := context.WithCancel(t.Context())
	s, err = f.Open(ctx, contents())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = io.Copy(io.Discard, s)
	fails(t, err, context.Canceled)
	s.Close()

	// Both protocols carry a connection.
	tunnel := f.options.Tunnel.(apiServerTunnel)
	modern, old, err := tunnel.newDialers(b.namespace, pod.Name)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{"websocket": modern, "SPDY": old} {
		conn, err := openPort(dialer, 9000)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.0\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("%s: closing: %v", name, err)
		}
	}

	k.complain = "nobody listens\x1b there"
	_, err = f.Open(t.Context(), contents())
	fails(t, err, nil, "port 9000 of the pod: nobody listens", "minio."+b.namespace+".svc")
	b.noneLeft()
}

func TestPortForwardNeedsRights(t *testing.T) {
	b := newBed(t, false, serve(nil))
	b.expose("minio", onPort(80, intstr.FromString("s3")), aPod("minio-0", true))
	b.configure("http://minio."+b.namespace+".svc", nil)
	user := "forwarder-" + b.namespace
	config, err := shared.ControlPlane(t).AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	b.options.Config = config
	b.grant(user, []string{"create", "get", "watch", "delete"}, "downloadrequests")
	b.grant(user, []string{"get"}, "backups", "backupstoragelocations")
	f := b.fetcher()
	f.lookupHost = unknown
	refused := func(resource string) {
		t.Helper()
		eventually(t, "a refusal for "+resource, func() bool {
			_, err := f.Open(t.Context(), contents())
			hides(t, err)
			return err != nil && strings.Contains(err.Error(), resource) && strings.Contains(err.Error(), "forbidden")
		})
	}
	refused("services")
	b.grantIn(user, "", []string{"get"}, "services")
	refused("pods")
	b.grantIn(user, "", []string{"list"}, "pods")
	refused("pods/portforward")
	b.noneLeft()
}
