package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// grant lets a user do things to Velero's resources in the bed's namespace.
func (b *bed) grant(user string, verbs []string, resources ...string) {
	b.t.Helper()
	b.grantIn(user, veleroapi.GroupVersion.Group, verbs, resources...)
}

func (b *bed) grantIn(user, group string, verbs []string, resources ...string) {
	b.t.Helper()
	meta := metav1.ObjectMeta{Namespace: b.namespace, GenerateName: "may-"}
	role := &rbacv1.Role{
		ObjectMeta: meta,
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: verbs}},
	}
	b.create(role)
	b.create(&rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

func TestURLsThatAreNotFollowed(t *testing.T) {
	query := "?sig=" + secret
	tests := []struct{ name, url, says string }{
		{"loopback", "http://127.0.0.1:1/x" + query, "this machine"},
		{"another port of loopback", "http://127.0.0.1:22/x" + query, "this machine"},
		{"loopback by name", "http://localhost:1/x" + query, "this machine"},
		{"loopback in IPv6", "http://[::1]/x" + query, "this machine"},
		{"loopback in disguise", "http://[::ffff:127.0.0.1]/x" + query, "this machine"},
		{"loopback through NAT64", "http://[64:ff9b::7f00:1]/x" + query, "this machine"},
		{"loopback as a number", "http://2130706433/x" + query, "number"},
		{"loopback in short", "http://127.1/x" + query, "number"},
		{"loopback in hexadecimal", "http://0x7f000001/x" + query, "number"},
		{"no address", "http://0.0.0.0/x" + query, "cannot be the address of an object store"},
		{"link-local", "http://169.254.1.1/x" + query, "link-local"},
		{"link-local in IPv6", "http://[fe80::1%25eth0]/x" + query, "link-local"},
		{"metadata", "http://169.254.169.254/latest/" + query, "metadata service"},
		{"metadata in IPv6", "http://[fd00:ec2::254]/" + query, "metadata service"},
		{"metadata by name", "http://Metadata.Google.Internal./x" + query, "metadata service"},
		{"file", "file:///etc/passwd" + query, `scheme is "file"`},
		{"gopher", "gopher://host/x" + query, "gopher"},
		{"no scheme", "//host/x" + query, "scheme"},
		{"no host", "http:///x" + query, "no host"},
		{"a user", "http://me:" + secret + "@host/x", "user name"},
		{"malformed", "http://host:port/x" + query, "malformed"},
		{"control bytes", "http://host\x1b/x" + query, "malformed"},
		{"endless", "http://host/?sig=" + secret + strings.Repeat("x", maxURLLength), "bytes"},
	}
	b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the store was asked") })
	urls := make(chan string, 1)
	b.sign = func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
		b.answer(ctx, r, <-urls, time.Now().Add(10*time.Minute))
	}
	f := b.fetcher()
	for _, test := range tests {
		urls <- test.url
		_, err := f.Open(t.Context(), contents())
		t.Run(test.name, func(t *testing.T) { fails(t, err, ErrUnsafeURL, test.says) })
	}
	b.noneLeft()
}

// A name may lead anywhere: what counts is where the connection is made to.
func TestNamesThatResolveToThisMachine(t *testing.T) {
	b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the store was asked") })
	p := &storePath{fetcher: b.fetcher(), location: &storeLocation{}, guard: addressGuard{ownAddresses: ownAddresses, isLoopback: netip.Addr.IsLoopback}}
	port := b.store.Listener.Addr().(*net.TCPAddr).Port
	_, err := p.dialStore(t.Context(), "tcp", fmt.Sprintf("localhost:%d", port))
	fails(t, err, ErrUnsafeURL, "this machine")
	p.guard.configured = true
	conn, err := p.dialStore(t.Context(), "tcp", fmt.Sprintf("localhost:%d", port))
	if err != nil {
		t.Fatalf("what the location names is refused: %v", err)
	}
	conn.Close()
}

func TestRefuseAddress(t *testing.T) {
	own := func() ([]netip.Addr, error) {
		return []netip.Addr{
			netip.MustParseAddr("10.1.2.3"),
			netip.MustParseAddr("2001:db8::77"),
			netip.MustParseAddr("fe80::7%eth0"),
		}, nil
	}
	outside := addressGuard{ownAddresses: own, isLoopback: netip.Addr.IsLoopback}
	configured := outside
	configured.configured = true
	for address, allowed := range map[string]bool{
		"10.0.0.1": true, "192.168.1.1": true, "203.0.113.9": true, "2001:db8::1": true, "fd12::1": true, "64:ff9b::a00:1": true,
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:169.254.0.9": false, "64:ff9b::a9fe:a9fe": false,
		"0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false, "100.100.100.200": false, "168.63.129.16": false,
		// This machine's own, in every form.
		"10.1.2.3": false, "::ffff:10.1.2.3": false, "64:ff9b::a01:203": false, "2001:db8::77": false, "fe80::7%eth1": false, "10.1.2.4": true,
	} {
		if err := outside.checkAddress(netip.MustParseAddr(address)); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, metadata := range metadataAddresses {
		if configured.checkAddress(metadata) == nil {
			t.Errorf("%s is taken for a store because the location names it", metadata)
		}
	}
	for _, address := range []string{"127.0.0.1", "10.1.2.3"} {
		if err := configured.checkAddress(netip.MustParseAddr(address)); err != nil {
			t.Error(err)
		}
	}
	blind := outside
	blind.ownAddresses = func() ([]netip.Addr, error) { return nil, errors.New("no interfaces") }
	fails(t, blind.checkAddress(netip.MustParseAddr("10.0.0.1")), ErrUnsafeURL, "no interfaces")
	clear := configured
	clear.plainHTTP = true
	for address, allowed := range map[string]bool{"127.0.0.1": true, "10.1.2.3": true, "10.0.0.1": false, "2001:db8::1": false} {
		err := clear.checkAddress(netip.MustParseAddr(address))
		if errors.Is(err, ErrUnencrypted) == allowed {
			t.Errorf("plain http to %s: %v", address, err)
		}
	}
}

// TestOwnAddresses: a store that listens on this machine's own address is not
// asked, whatever name leads there.
func TestOwnAddresses(t *testing.T) {
	addresses, err := ownAddresses()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(addresses, func(a netip.Addr) bool { return !a.IsLoopback() && !a.IsLinkLocalUnicast() })
	if at < 0 {
		t.Skip("this machine has no address but loopback")
	}
	b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the store was asked") })
	listener, err := net.Listen("tcp", net.JoinHostPort(addresses[at].String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var connections atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	b.options.AllowPlainHTTP = true
	b.sign = signURL("http://" + listener.Addr().String() + "/x?sig=" + secret)
	_, err = b.fetcher().Open(t.Context(), contents())
	fails(t, err, ErrUnsafeURL, "this machine")
	p := &storePath{fetcher: b.fetcher(), location: &storeLocation{}, guard: addressGuard{ownAddresses: ownAddresses, isLoopback: netip.Addr.IsLoopback}}
	_, err = p.dialStore(t.Context(), "tcp", listener.Addr().String())
	fails(t, err, ErrUnsafeURL, "this machine")
	if connections.Load() > 0 {
		t.Error("a connection was made")
	}
	b.noneLeft()
}

// TestPlainHTTPNeedsConsent: what would leave this machine unencrypted is not
// asked for unless somebody agreed, and then it is announced.
func TestPlainHTTPNeedsConsent(t *testing.T) {
	body := zip("for everybody to read")
	asked := atomic.Int32{}
	b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); serve(body)(w, r) })
	var routes []Route
	b.options.OnRoute = func(r Route) { routes = append(routes, r) }
	open := func(elsewhere bool) error {
		f := b.fetcher()
		if elsewhere { // to us, the store's address is another machine's
			f.ownAddresses = func() ([]netip.Addr, error) { return nil, nil }
			f.isLoopback = func(netip.Addr) bool { return false }
		}
		s, err := f.Open(t.Context(), contents())
		if err != nil {
			return err
		}
		return s.Close()
	}
	host := b.store.Listener.Addr().String()
	fails(t, open(true), ErrUnencrypted, host, "--allow-plain-http", "Secrets")
	if asked.Load() > 0 || len(routes) > 0 {
		t.Errorf("asked %d times, announced %v", asked.Load(), routes)
	}
	if err := open(false); err != nil || len(routes) != 1 || routes[0].PlainHTTP {
		t.Errorf("on this machine: %v, announced %+v", err, routes)
	}
	b.options.AllowPlainHTTP = true
	if err := open(true); err != nil || len(routes) != 2 || routes[1] != (Route{Host: host, PlainHTTP: true}) {
		t.Errorf("agreed: %v, announced %+v", err, routes)
	}
	b.options.AllowPlainHTTP = false
	b.options.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	fails(t, open(false), ErrUnencrypted, host)
}

func TestRedirects(t *testing.T) {
	body := zip("x")
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	to := func(status int, location string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				serve(body)(w, r)
				return
			}
			w.Header().Set("Location", location)
			w.WriteHeader(status)
		}
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		says    string
	}{
		{"same host", to(307, "/there?sig="+secret), ""},
		{"another host", to(307, other.URL+"/there?sig="+secret), "redirects to a different host, " + other.URL},
		{"the metadata service", to(302, "http://169.254.169.254/there?sig="+secret), "redirects to a different host"},
		{"another scheme", to(301, "https://127.0.0.1/there"), "redirects to a different host"},
		{"nowhere", to(301, ""), "without a location"},
		{"round and round", to(308, "/again"), "redirected 3 times"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, false, test.handler)
			s, err := b.fetcher().Open(t.Context(), contents())
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				return
			}
			fails(t, err, ErrUnsafeURL, test.says)
			b.noneLeft()
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("another host was asked")
	}
}

// change patches a request as it is now in the cluster.
func (b *bed) change(ctx context.Context, r *veleroapi.DownloadRequest, change func(*veleroapi.DownloadRequest)) {
	before := r.DeepCopy()
	change(r)
	if err := b.api.Patch(ctx, r, client.MergeFrom(before)); err != nil && ctx.Err() == nil {
		b.t.Errorf("changing a request: %v", err)
	}
}

func TestTamperedRequests(t *testing.T) {
	tests := []struct {
		name string
		sign func(context.Context, *bed, *veleroapi.DownloadRequest)
		says string
		// left is how many requests stay: those of others.
		left int
	}{
		{"another target", func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
			b.change(ctx, r, func(r *veleroapi.DownloadRequest) {
				r.Spec.Target.Name = "another\x1b"
				r.Status.DownloadURL = b.urlFor(r)
			})
		}, "asks for BackupContents of another", 0},
		{"another kind", func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
			b.change(ctx, r, func(r *veleroapi.DownloadRequest) {
				r.Spec.Target.Kind = veleroapi.DownloadTargetKindBackupLog
				r.Status.DownloadURL = b.urlFor(r)
			})
		}, "asks for BackupLog", 0},
		{"deleted", func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
			if err := b.api.Delete(ctx, r); err != nil {
				b.t.Error(err)
			}
		}, "someone deleted it before Velero answered", 0},
		{"replaced", func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
			if b.asked.Load() > 1 {
				return // The one that takes its place.
			}
			if err := b.api.Delete(ctx, r.DeepCopy()); err != nil {
				b.t.Error(err)
			}
			again := &veleroapi.DownloadRequest{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name},
				Spec:       r.Spec,
			}
			again.Status.DownloadURL = b.urlFor(r)
			// It is seen, and the test over, before the API server's answer is here.
			if err := b.api.Create(context.WithoutCancel(ctx), again); err != nil {
				b.t.Error(err)
			}
		}, "someone deleted it before Velero answered", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the URL was trusted") })
			b.sign = test.sign
			_, err := b.fetcher().Open(t.Context(), contents())
			fails(t, err, ErrTampered, test.says)
			if test.left == 0 {
				b.noneLeft()
			} else {
				eventually(t, "the other request", func() bool { return len(b.requests()) == test.left })
			}
		})
	}
}

// When the watch breaks off, a replaced request is seen by its uid alone.
func TestUIDIsChecked(t *testing.T) {
	b := newBed(t, false, serve(nil))
	b.sign = func(context.Context, *bed, *veleroapi.DownloadRequest) {}
	f := b.fetcher()
	r, err := f.createRequest(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	object, err := f.requestClient().Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.SetUID(types.UID("another"))
	_, err = r.acceptUpdate(object)
	fails(t, err, ErrTampered, "another request has its name")
	f.deleteRequest(t.Context(), r.name, "another")
	if len(b.requests()) != 1 {
		t.Error("a request of someone else was deleted")
	}
	f.deleteRequest(t.Context(), r.name, r.uid)
	b.noneLeft()
}

// The URL is read once: what is written afterwards leads nowhere.
func TestURLChangedAfterwards(t *testing.T) {
	body := zip("right")
	var evil atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { evil.Add(1) }))
	t.Cleanup(other.Close)
	b := newBed(t, false, serve(body))
	b.sign = func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
		b.answer(ctx, r, b.urlFor(r), time.Now().Add(time.Minute))
		b.answer(ctx, r, other.URL+"/?sig="+secret, time.Now().Add(time.Minute))
	}
	s, err := b.fetcher().Open(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, body) || evil.Load() > 0 {
		t.Errorf("%d bytes, %v; the other server was asked %d times", len(got), err, evil.Load())
	}
	b.noneLeft()
}

func TestNoAnswer(t *testing.T) {
	b := newBed(t, false, serve(nil))
	b.sign = func(context.Context, *bed, *veleroapi.DownloadRequest) {}
	b.options.Limits.SigningTimeout = 500 * time.Millisecond
	_, err := b.fetcher().Open(t.Context(), contents())
	fails(t, err, ErrNoAnswer, "within 500ms", "no pod of Velero's server in namespace "+b.namespace)
	b.noneLeft()

	f := b.fetcher()
	r := &downloadRequest{}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.namespace,
			Name:      "velero-0",
			Labels:    map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
	}
	b.create(pod)
	state := func(state corev1.ContainerState) {
		t.Helper()
		pod.Status = corev1.PodStatus{
			Phase:             corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "velero", State: state}},
		}
		if err := b.api.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	state(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
	fails(
		t,
		f.explainSilence(t.Context(), r, ErrNoAnswer),
		ErrNoAnswer,
		"server does not run in namespace "+b.namespace,
		"pod velero-0: CrashLoopBackOff",
	)
	state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	fails(
		t,
		f.explainSilence(t.Context(), r, ErrNoAnswer),
		ErrNoAnswer,
		"phase of the request: none",
		"velero pod in namespace "+b.namespace,
	)
	r.lastState.Status.Expiration = &metav1.Time{Time: time.Now()}
	fails(t, f.explainSilence(t.Context(), r, ErrNoAnswer), ErrNoAnswer, "could not sign", "storage location")
}

// Nobody waits a minute for a server that is not there or cannot start.
func TestNoAnswerWithoutAServer(t *testing.T) {
	b := newBed(t, false, serve(nil))
	b.sign = func(context.Context, *bed, *veleroapi.DownloadRequest) {}
	b.options.Limits.SigningTimeout = time.Hour
	b.options.Limits.ServerCheckInterval = 10 * time.Millisecond
	_, err := b.fetcher().Open(t.Context(), contents())
	fails(t, err, ErrNoAnswer, "no pod of Velero's server in namespace "+b.namespace, "nobody answers requests")
	b.noneLeft()

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.namespace, Name: "velero-0", Labels: map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
	}
	b.create(pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available",
	}}}
	if err := b.api.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	_, err = b.fetcher().Open(t.Context(), contents())
	fails(t, err, ErrNoAnswer, "server does not run in namespace "+b.namespace, "velero-0: Unschedulable")
	b.noneLeft()
}

func TestSilentAPIServer(t *testing.T) {
	b := newBed(t, false, serve(nil))
	b.options.Limits.SigningTimeout = 500 * time.Millisecond
	f := b.fetcher()
	if _, err := f.findLocation(t.Context(), contents()); err != nil {
		t.Fatal(err)
	}
	if err := shared.ControlPlane(t).PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	resumed := false
	resume := func() {
		if !resumed {
			resumed = true
			if err := shared.ControlPlane(t).ResumeAPIServer(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(resume)
	_, err := f.requestURL(t.Context(), contents())
	fails(t, err, ErrNoAnswer, "API server")
	fails(t, f.explainSilence(t.Context(), &downloadRequest{}, ErrNoAnswer), ErrNoAnswer, "the API server does not respond")
	resume()
}

func TestRefusedByVelero(t *testing.T) {
	// The CRD of 1.18 does not know this phase and the message, so that it
	// cannot be stored; what would be read is taken as it is.
	b := newBed(t, false, serve(nil))
	b.sign = func(context.Context, *bed, *veleroapi.DownloadRequest) {}
	f := b.fetcher()
	r, err := f.createRequest(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	defer f.deleteRequest(t.Context(), r.name, r.uid)
	object, err := f.requestClient().Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Object["status"] = map[string]any{
		"phase":       "Failed",
		"message":     "backup is Queued\x1b, see http://h/x?y=" + secret,
		"downloadURL": b.store.URL,
	}
	_, err = r.acceptUpdate(object)
	fails(t, err, ErrRefused, "backup is Queued", "http://h/x?"+redacted)
}

func TestSlowAndEndless(t *testing.T) {
	t.Run("nothing comes", func(t *testing.T) {
		release := make(chan struct{})
		b := newBed(t, false, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		t.Cleanup(func() { close(release) })
		b.options.Limits.IdleTimeout = 300 * time.Millisecond
		_, err := b.fetcher().Open(t.Context(), contents())
		fails(t, err, ErrStalled, "nothing arrived for 300ms")
		b.noneLeft()
	})
	t.Run("it stops in mid-stream", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 1000))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		b.options.Limits.IdleTimeout = time.Second
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := io.ReadAll(s)
		fails(t, err, ErrStalled, "nothing arrived for 1s")
		if len(got) != 1000 || s.BytesRead() != 1000 || s.Size() != -1 {
			t.Errorf("%d bytes, done %d, size %d", len(got), s.BytesRead(), s.Size())
		}
	})
	t.Run("the reader takes its time", func(t *testing.T) {
		b := newBed(t, false, serve(zip("patience")))
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.idleTimer.Stop() {
			t.Error("the time before the first read counts as the store's")
		}
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if s.idleTimer.Stop() {
			t.Error("the time between two reads counts as the store's")
		}
	})
	t.Run("it drips", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
			}
		})
		b.options.Limits.TotalTimeout = time.Second
		s, err := b.fetcher().Open(t.Context(), contents())
		if err == nil {
			defer s.Close()
			_, err = io.Copy(io.Discard, s)
		}
		fails(t, err, ErrStalled, "not complete after 1s")
	})
	t.Run("a small one drips", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"v1/Pod":["a/b"`))
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
			}
		})
		b.options.Limits.JSONTimeout = time.Second
		f := b.fetcher()
		_, err := f.FetchResourceList(t.Context(), job.Backup, backupName)
		fails(t, err, ErrStalled, "not complete after 1s")
		_, err = f.FetchResults(t.Context(), job.Backup, backupName)
		fails(t, err, ErrStalled, "not complete after 1s")
	})
	t.Run("it never ends", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		})
		b.options.Limits.ContentsBytes = 1 << 20
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n, err := io.Copy(io.Discard, s)
		fails(t, err, ErrTooLarge, "more than 1048576 bytes")
		if n > 1<<20 {
			t.Errorf("%d bytes came through", n)
		}
	})
	t.Run("it says that it is too large", func(t *testing.T) {
		b := newBed(t, false, serve(make([]byte, 2000)))
		b.options.Limits.ContentsBytes = 1000
		_, err := b.fetcher().Open(t.Context(), contents())
		fails(t, err, ErrTooLarge, "2000 bytes")
	})
	t.Run("it breaks off", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(make([]byte, 1000))
		})
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = io.ReadAll(s)
		fails(t, err, io.ErrUnexpectedEOF, "reading from the object store")
	})
}

func TestBombsAndDamage(t *testing.T) {
	whole := zip(samples["BackupResults"])
	tests := []struct {
		name string
		body []byte
		want error
		says string
	}{
		{"a bomb", zip(`{"errors":{"velero":["` + strings.Repeat("x", 32<<20) + `"]}}`), ErrTooLarge, "unpack to"},
		{"cut off", whole[:len(whole)-10], io.ErrUnexpectedEOF, "too early"},
		{"not JSON", zip("html"), nil, "not the JSON that Velero writes"},
		{"a page", zip("<html>"), ErrReplaced, "answers with an HTML page"},
		{"an empty object", nil, ErrReplaced, "is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, false, serve(test.body))
			_, err := b.fetcher().FetchResults(t.Context(), job.Backup, backupName)
			fails(t, err, test.want, test.says)
			b.noneLeft()
		})
	}
}

func TestCancel(t *testing.T) {
	t.Run("while Velero is asked", func(t *testing.T) {
		b := newBed(t, false, serve(nil))
		ctx, cancel := context.WithCancel(t.Context())
		b.sign = func(context.Context, *bed, *veleroapi.DownloadRequest) { cancel() }
		_, err := b.fetcher().Open(ctx, contents())
		fails(t, err, context.Canceled)
		b.noneLeft()
	})
	t.Run("while the store is asked", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBed(t, false, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		_, err := b.fetcher().Open(ctx, contents())
		fails(t, err, context.Canceled)
		b.noneLeft()
	})
	t.Run("in mid-stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 100))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(ended)
		})
		s, err := b.fetcher().Open(ctx, contents())
		if err != nil {
			t.Fatal(err)
		}
		b.noneLeft() // Nothing is left even while it runs.
		if _, err := io.ReadFull(s, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		cancel()
		_, err = s.Read(make([]byte, 1))
		fails(t, err, context.Canceled)
		<-ended // The connection was given up.
		s.Close()
	})
	t.Run("by Close", func(t *testing.T) {
		ended := make(chan struct{})
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 100))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(ended)
		})
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		<-ended
		if _, err := s.Read(make([]byte, 1)); err == nil {
			t.Error("a closed stream reads")
		}
	})
}

func TestUnreachableStore(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		b := newBed(t, false, serve(nil))
		b.store.Close()
		_, err := b.fetcher().Open(t.Context(), contents())
		fails(t, err, nil, "connecting to the object store at 127.0.0.1", "refused")
		b.noneLeft()
	})
	t.Run("nonsense", func(t *testing.T) {
		b := newBed(t, false, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(conn, "HTTP/9 %s\r\n\r\n", secret)
			conn.Close()
		})
		_, err := b.fetcher().Open(t.Context(), contents())
		fails(t, err, nil, "connecting to the object store")
	})
}

func TestProxy(t *testing.T) {
	body := zip("through a proxy")
	var seen atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(&r.RequestURI)
		serve(body)(w, r)
	}))
	t.Cleanup(proxy.Close)
	b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the store was asked directly") })
	b.options.Proxy = func(*http.Request) (*url.URL, error) {
		u, err := url.Parse(proxy.URL)
		u.User = url.UserPassword("me", secret)
		return u, err
	}
	var routes []Route
	b.options.OnRoute = func(r Route) { routes = append(routes, r) }
	b.options.AllowPlainHTTP = true
	b.sign = signURL("http://store.example.com/x?sig=" + secret)
	s, err := b.fetcher().Open(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if want := "http://store.example.com/x?sig=" + secret; seen.Load() == nil || *seen.Load() != want {
		t.Errorf("the proxy was asked %v", seen.Load())
	}
	want := Route{Host: "store.example.com", Via: "proxy " + proxy.URL, PlainHTTP: true}
	if s.route != want || len(routes) != 1 || routes[0] != want {
		t.Errorf("route %+v, announced %+v", s.route, routes)
	}

	b.sign = signURL("http://169.254.169.254/x?sig=" + secret)
	_, err = b.fetcher().Open(t.Context(), contents())
	fails(t, err, ErrUnsafeURL, "metadata")
}

// TestForbiddenNamesBehindAProxy refuses what a name leads to, where this machine can tell.
func TestForbiddenNamesBehindAProxy(t *testing.T) {
	var asked atomic.Int32
	lookups := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		serve(zip("through a proxy"))(w, r)
	}))
	t.Cleanup(proxy.Close)
	b := newBed(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the store was asked directly") })
	b.options.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	b.options.AllowPlainHTTP = true
	b.sign = signURL("http://store.example.com/x?sig=" + secret)
	for _, c := range []struct {
		addresses string // empty for a name that is unknown here
		says      string // empty if the proxy is asked
	}{
		{"", ""}, {"203.0.113.9", ""}, {"10.0.0.7 203.0.113.9", ""}, {"fd12::1", ""},
		{"169.254.169.254", "metadata"}, {"169.254.170.2", "metadata"}, {"169.254.170.23", "metadata"}, {"100.100.100.200", "metadata"},
		{"168.63.129.16", "metadata"}, {"192.0.0.192", "metadata"}, {"fd00:ec2::254", "metadata"}, {"fd00:ec2::23", "metadata"},
		{"fd20:ce::254", "metadata"}, {"fe80::a9fe:a9fe%eth0", "metadata"}, {"::ffff:169.254.169.254", "metadata"}, {"64:ff9b::a9fe:a9fe", "metadata"},
		{"203.0.113.9 169.254.169.254", "metadata"}, {"169.254.7.7", "link-local"}, {"fe80::1%eth0", "link-local"},
		{"127.0.0.1", "this machine"}, {"::1", "this machine"}, {"0.0.0.0", "cannot be the address"},
	} {
		asked.Store(0)
		lookups = 0
		f := b.fetcher()
		f.lookupHost = func(_ context.Context, host string) (found []netip.Addr, err error) {
			if host != "store.example.com" {
				t.Errorf("%s was looked up", host)
			}
			lookups++
			for _, a := range strings.Fields(c.addresses) {
				found = append(found, netip.MustParseAddr(a))
			}
			if found == nil {
				err = errors.New("no such host")
			}
			return found, err
		}
		for range 2 {
			s, err := f.Open(t.Context(), contents())
			if c.says != "" {
				fails(t, err, ErrUnsafeURL, c.says)
				continue
			}
			if err != nil {
				t.Fatalf("%q: %v", c.addresses, err)
			}
			s.Close()
		}
		if want := map[bool]int32{true: 2}[c.says == ""]; asked.Load() != want {
			t.Errorf("%q: the proxy was asked %d times", c.addresses, asked.Load())
		}
		if c.addresses == "" && lookups != 1 {
			t.Errorf("%d lookups of a name that is unknown here", lookups)
		}
	}
}

func TestRedact(t *testing.T) {
	raw := "http://host/x?X-Amz-Credential=AKIA%2F2026%2Fhere&X-Amz-Signature=" + secret + "&v=1"
	s, err := parseSignedURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		raw, `Get "` + raw + `": refused`, "X-Amz-Signature=" + secret, "credential AKIA/2026/here", "AKIA%2F2026%2Fhere",
		"https://h/?a=" + secret, strings.ToUpper("x") + s.url.RawQuery,
	} {
		got := s.redactText(text)
		if strings.Contains(got, secret) || strings.Contains(got, "AKIA") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := s.redactText("version 1 of host"); got != "version 1 of host" {
		t.Errorf("harmless words became %q", got)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, secret) {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	wrapped := s.redactError(fmt.Errorf("doing: %w", &url.Error{Op: "Get", URL: raw, Err: context.Canceled}))
	fails(t, wrapped, context.Canceled, "doing")
	plain := errors.New("plain")
	if s.redactError(plain) != plain {
		t.Error("an error without a secret was changed")
	}
}
