package artifact

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// enough is how long a test waits for what has to come; only a failure takes
// that long.
const enough = 2 * time.Minute

// secret is what no error and no log line may hold.
const secret = "c0ffee5ecre7c0ffee5ecre7"

// Names of the backup and the restore that every bed has.
const backupName, restoreName = "daily-1", "back-1"

// All tests share one control plane; each has a namespace of its own.
var shared testbed.SharedControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // For envtest.
	os.Exit(shared.RunTests(m))
}

// bed is a namespace with a backup, a restore and a storage location, an object
// store, and a stand-in for Velero's DownloadRequest controller.
type bed struct {
	t         *testing.T
	api       client.WithWatch
	namespace string
	store     *httptest.Server
	location  *veleroapi.BackupStorageLocation
	options   Options
	log       lockedBuffer
	asked     atomic.Int32

	// sign answers a new request; it may do anything to it.
	sign func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest)
}

// newBed starts a store, over TLS or not, that is served by handler, and a
// signer that signs URLs of it.
func newBed(t *testing.T, overTLS bool, handler http.HandlerFunc) *bed {
	t.Helper()
	plane := shared.ControlPlane(t)
	api, err := client.NewWithWatch(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, api: api, namespace: shared.Name("artifact"), sign: signStore}
	b.store = httptest.NewUnstartedServer(handler)
	b.store.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if overTLS {
		b.store.StartTLS()
	} else {
		b.store.Start()
	}
	t.Cleanup(b.store.Close)
	b.location = &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "main"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			Config:      map[string]string{"s3Url": b.store.URL, "region": "here"},
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "bucket"}},
		},
	}
	b.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}},
		b.location,
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: backupName},
			Spec:       veleroapi.BackupSpec{StorageLocation: "main"},
		},
		&veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: restoreName},
			Spec:       veleroapi.RestoreSpec{BackupName: backupName},
		},
	)
	b.options = Options{
		Config:    plane.RESTConfig(),
		Namespace: b.namespace,
		Proxy:     func(*http.Request) (*url.URL, error) { return nil, nil },
		Limits:    Limits{SigningTimeout: enough, IdleTimeout: enough, TotalTimeout: enough},
		Log:       slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	b.runSigner()
	t.Cleanup(func() {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log holds the secret:\n%s", b.log.String())
		}
	})
	return b
}

func (b *bed) create(objects ...client.Object) {
	b.t.Helper()
	for _, o := range objects {
		if err := b.api.Create(b.t.Context(), o); err != nil {
			b.t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// runSigner plays Velero's controller until the test ends.
func (b *bed) runSigner() {
	ctx, cancel := context.WithCancel(context.Background())
	w, err := b.api.Watch(ctx, &veleroapi.DownloadRequestList{}, client.InNamespace(b.namespace))
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if r, ok := event.Object.(*veleroapi.DownloadRequest); ok && event.Type == watch.Added {
				b.asked.Add(1)
				b.sign(ctx, b, r)
			}
		}
	}()
	b.t.Cleanup(func() {
		cancel()
		w.Stop()
		<-done
	})
}

// urlFor is a signed URL of the bed's store.
func (b *bed) urlFor(r *veleroapi.DownloadRequest) string {
	return fmt.Sprintf(
		"%s/bucket/%s/%s?X-Amz-Expires=600&X-Amz-Signature=%s",
		b.store.URL,
		r.Spec.Target.Kind,
		r.Spec.Target.Name,
		secret,
	)
}

func signStore(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
	b.answer(ctx, r, b.urlFor(r), time.Now().Add(10*time.Minute))
}

// signURL always answers with the same URL.
func signURL(url string) func(context.Context, *bed, *veleroapi.DownloadRequest) {
	return func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
		b.answer(ctx, r, url, time.Now().Add(10*time.Minute))
	}
}

// answer writes a URL, unless the request is gone.
func (b *bed) answer(ctx context.Context, r *veleroapi.DownloadRequest, url string, until time.Time) {
	before := r.DeepCopy()
	r.Status = veleroapi.DownloadRequestStatus{
		Phase:       veleroapi.DownloadRequestPhaseProcessed,
		DownloadURL: url,
		Expiration:  &metav1.Time{Time: until.Truncate(time.Second)},
	}
	if err := b.api.Patch(ctx, r, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		b.t.Errorf("answering a request: %v", err)
	}
}

func (b *bed) fetcher() *Fetcher {
	b.t.Helper()
	f, err := New(b.options)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

// requests are the DownloadRequests that are there now.
func (b *bed) requests() []veleroapi.DownloadRequest {
	b.t.Helper()
	var list veleroapi.DownloadRequestList
	if err := b.api.List(context.Background(), &list, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

// noneLeft checks that every request was deleted.
func (b *bed) noneLeft() {
	b.t.Helper()
	if left := b.requests(); len(left) > 0 {
		b.t.Errorf("%d requests are left, the first is %s", len(left), left[0].Name)
	}
}

// fails checks that err is what was wanted, says what was wanted, and hides the
// secret however it is printed or unwrapped.
func fails(t *testing.T, err, want error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if want != nil && !errors.Is(err, want) {
		t.Errorf("error is %q, want %q", err, want)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("error does not say %q: %v", words, err)
		}
	}
	hides(t, err)
}

func hides(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) && strings.Contains(wrapped.URL, secret) {
		t.Error("the error holds a *url.Error with the secret")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s"} {
		if text := fmt.Sprintf(verb, err); strings.Contains(text, secret) {
			t.Errorf("%s prints the secret: %s", verb, text)
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		hides(t, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			hides(t, one)
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(
		t.Context(),
		10*time.Millisecond,
		enough,
		true,
		func(context.Context) (bool, error) { return done(), nil },
	)
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func zip(text string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return out.Bytes()
}

// modified is when everything in a test store was stored.
var modified = time.Date(2026, 11, 21, 1, 46, 43, 0, time.UTC)

// serve is a store that holds the same bytes everywhere.
func serve(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", modified, bytes.NewReader(body))
	}
}

// refuse is a store that answers every request with an error in S3's form.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuseWith(w, status, code, message) }
}

func refuseWith(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
