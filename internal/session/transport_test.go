package session

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// bombSize is how long an answer of a hostile server is, after decompression.
const bombSize = 1 << 30

// maxHeap is what any of them may make a client allocate in total.
const maxHeap = 64 << 20

// serve starts a server with TLS, and returns a configuration that leads to it.
func serve(t *testing.T, http2 bool, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{
		Host:            server.URL,
		BearerToken:     "secret",
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
		QPS:             -1,
	}
	if !http2 {
		config.NextProtos = []string{"http/1.1"}
	}
	return config
}

// repeat writes a text until so many bytes are written or the reader is gone.
func repeat(w io.Writer, text string, total int) {
	chunk := strings.Repeat(text, 64<<10/len(text))
	for written := 0; written < total; {
		n, err := io.WriteString(w, chunk)
		if err != nil {
			return
		}
		written += n
	}
}

// encodings are ways to write a bomb. Each begins like an honest answer.
var encodings = map[string]func(w http.ResponseWriter, code int, start string){
	"plain without end": func(w http.ResponseWriter, code int, start string) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, start)
		repeat(w, "A", bombSize)
	},
	"plain of a declared length": func(w http.ResponseWriter, code int, start string) {
		w.Header().Set("Content-Length", fmt.Sprint(len(start)+bombSize))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, start)
		repeat(w, "A", bombSize)
	},
	"gzip": func(w http.ResponseWriter, code int, start string) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(code)
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, start)
		repeat(packed, "A", bombSize)
		_ = packed.Close()
	},
	"gzip in members": func(w http.ResponseWriter, code int, start string) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(code)
		packed := gzip.NewWriter(w)
		for i := range 1 << 10 {
			packed.Reset(w)
			if i == 0 {
				_, _ = io.WriteString(packed, start)
			}
			repeat(packed, "A", 1<<20)
			if packed.Close() != nil {
				return
			}
		}
	},
	"deflate": func(w http.ResponseWriter, code int, start string) {
		w.Header().Set("Content-Encoding", "deflate")
		w.WriteHeader(code)
		repeat(w, "A", bombSize)
	},
	"an unknown encoding": func(w http.ResponseWriter, code int, start string) {
		w.Header().Set("Content-Encoding", "gzip, gzip")
		w.WriteHeader(code)
		repeat(w, "A", bombSize)
	},
}

// requests are all the ways in which veltui asks an API server.
var requests = map[string]func(context.Context, *kubernetes.Clientset, dynamic.Interface, metadata.Interface) error{
	"one object": func(ctx context.Context, _ *kubernetes.Clientset, d dynamic.Interface, _ metadata.Interface) error {
		_, err := d.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
			Namespace("n").
			Get(ctx, "a", metav1.GetOptions{})
		return err
	},
	"a typed list": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.CoreV1().Pods("n").List(ctx, metav1.ListOptions{})
		return err
	},
	"a list": func(ctx context.Context, _ *kubernetes.Clientset, d dynamic.Interface, _ metadata.Interface) error {
		_, err := d.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, metav1.ListOptions{})
		return err
	},
	"a list of metadata": func(ctx context.Context, _ *kubernetes.Clientset, _ dynamic.Interface, m metadata.Interface) error {
		_, err := m.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, metav1.ListOptions{})
		return err
	},
	"an access review": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.AuthorizationV1().
			SelfSubjectAccessReviews().
			Create(ctx, &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
		return err
	},
	"a review of the user": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.AuthenticationV1().
			SelfSubjectReviews().
			Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		return err
	},
	"discovery": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, _, err := c.DiscoveryClient.ServerGroupsAndResources()
		return err
	},
	"the version": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.DiscoveryClient.ServerVersion()
		return err
	},
	"the OpenAPI document": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.DiscoveryClient.OpenAPISchema()
		return err
	},
	"the end of a log": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		_, err := c.CoreV1().Pods("n").GetLogs("a", &corev1.PodLogOptions{}).DoRaw(ctx)
		return err
	},
	"a patch": func(ctx context.Context, _ *kubernetes.Clientset, d dynamic.Interface, _ metadata.Interface) error {
		_, err := d.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
			Namespace("n").
			Patch(ctx, "a", types.JSONPatchType, []byte("[]"), metav1.PatchOptions{})
		return err
	},
	"a create": func(ctx context.Context, _ *kubernetes.Clientset, d dynamic.Interface, _ metadata.Interface) error {
		o := &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}},
		}
		_, err := d.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
			Namespace("n").
			Create(ctx, o, metav1.CreateOptions{})
		return err
	},
	"a delete": func(ctx context.Context, _ *kubernetes.Clientset, d dynamic.Interface, _ metadata.Interface) error {
		return d.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
			Namespace("n").
			Delete(ctx, "a", metav1.DeleteOptions{})
	},
	"a stream": func(ctx context.Context, c *kubernetes.Clientset, _ dynamic.Interface, _ metadata.Interface) error {
		body, err := c.CoreV1().Pods("n").GetLogs("a", &corev1.PodLogOptions{}).Stream(ctx)
		if err != nil {
			return err
		}
		defer body.Close()
		_, err = io.Copy(io.Discard, body)
		return err
	},
}

// clients are built on the transport as those of veltui are.
func clients(
	t *testing.T,
	config *rest.Config,
	o TransportOptions,
) (*kubernetes.Clientset, dynamic.Interface, metadata.Interface) {
	t.Helper()
	over, err := HTTPClient(config, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(over.CloseIdleConnections)
	typed, err := kubernetes.NewForConfigAndClient(config, over)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfigAndClient(config, over)
	if err != nil {
		t.Fatal(err)
	}
	partly, err := metadata.NewForConfigAndClient(config, over)
	if err != nil {
		t.Fatal(err)
	}
	return typed, untyped, partly
}

// TestBombs asks in every way, and gets a gigabyte in each encoding: it costs little,
// and counts neither as an answer nor as the answer that there is nothing.
func TestBombs(t *testing.T) {
	const list = `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"`
	if testing.Short() {
		t.Skip("the race detector allocates too, and takes its time")
	}
	for _, code := range []int{200, 404, 429, 500} {
		for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
			for name, write := range encodings {
				t.Run(fmt.Sprint(code, " ", protocol, " ", name), func(t *testing.T) {
					config := serve(t, protocol == "HTTP/2", func(w http.ResponseWriter, r *http.Request) {
						if want := protocol[5:6]; fmt.Sprint(r.ProtoMajor) != want {
							t.Errorf("the request came by %s", r.Proto)
						}
						w.Header().Set("Content-Type", "application/json")
						if code == 429 || code == 500 {
							w.Header().Set("Retry-After", "1")
						}
						write(w, code, list)
					})
					meter := NewMeter(nil)
					typed, untyped, partly := clients(
						t,
						config,
						TransportOptions{Meter: meter, DisableRetries: code == 500},
					)
					for asked, ask := range requests {
						var before, after runtime.MemStats
						runtime.ReadMemStats(&before)
						_, read := meter.Totals()
						err := ask(t.Context(), typed, untyped, partly)
						runtime.ReadMemStats(&after)
						if !IsIncomplete(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
							t.Errorf("%s: %v", asked, err)
						}
						limit := int64(MaxAnswerBytes)
						if code != 200 || strings.Contains(asked, "review") {
							limit = maxSmallAnswerBytes
						}
						// Discovery is more than one request.
						if _, now := meter.Totals(); now-read > 3*(limit+1) {
							t.Errorf("%s: %d bytes were read", asked, now-read)
						}
						if cost := after.TotalAlloc - before.TotalAlloc; cost > maxHeap {
							t.Errorf("%s: %d MB were allocated", asked, cost>>20)
						}
					}
				})
			}
		}
	}
}

// TestStreamsHaveNoEnd lets a watch and a followed log go on for ever, but limits
// their errors.
func TestStreamsHaveNoEnd(t *testing.T) {
	code := 200
	config := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		repeat(w, "A", 5*MaxAnswerBytes)
	})
	typed, _, _ := clients(t, config, TransportOptions{})
	for code = range map[int]bool{200: true, 404: true} {
		body, err := typed.CoreV1().
			Pods("n").
			GetLogs("a", &corev1.PodLogOptions{Follow: true}).
			Stream(WithStreaming(t.Context()))
		if code != 200 {
			if !IsIncomplete(err) || apierrors.IsNotFound(err) {
				t.Errorf("%v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); n != 5*MaxAnswerBytes || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		_ = body.Close()
	}
}

// TestErrorsStayWhatTheyAre: a Status of Kubernetes, with a body that breaks off too.
func TestErrorsStayWhatTheyAre(t *testing.T) {
	broken := false
	config := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if broken {
			w.Header().Set("Content-Length", "1000")
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"a"}}`,
		)
	})
	typed, untyped, partly := clients(t, config, TransportOptions{})
	if err := requests["a patch"](
		t.Context(),
		typed,
		untyped,
		partly,
	); !apierrors.IsNotFound(err) ||
		apierrors.IsUnexpectedServerError(err) {
		t.Errorf("%v", err)
	}
	broken = true
	if err := requests["a patch"](
		t.Context(),
		typed,
		untyped,
		partly,
	); apierrors.IsNotFound(err) ||
		!errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// TestRedirectsAreRefused, so that neither the credentials nor the request go
// elsewhere.
func TestRedirectsAreRefused(t *testing.T) {
	var taken atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken.Add(1) }))
	t.Cleanup(thief.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{thief.URL + "/x\x1b[31m", "//" + strings.TrimPrefix(thief.URL, "http://"), "/here", ""} {
			config := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/here" {
					taken.Add(1)
				}
				w.Header().Set("Location", to)
				w.WriteHeader(code)
			})
			typed, untyped, partly := clients(t, config, TransportOptions{})
			for asked, ask := range requests {
				err := ask(t.Context(), typed, untyped, partly)
				var redirect *RedirectError
				if !errors.As(err, &redirect) || redirect.Code != code || strings.Contains(err.Error(), "\x1b") {
					t.Errorf("%s, %d to %q: %v", asked, code, to, err)
				}
			}
		}
	}
	if n := taken.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for sent, want := range map[string]string{
		"": "", "0": "1", "1": "1", "5": "5", "6": "5", "99999999999999999999": "5", "-1": "", "+3": "", "1.5": "", "soon": "", " 2": "",
		"Fri, 31 Dec 9999 23:59:59 GMT":                  "5",
		now.Add(3 * time.Second).Format(http.TimeFormat): "3",
		now.Add(-time.Hour).Format(http.TimeFormat):      "1",
	} {
		h := http.Header{"Date": {now.Format(http.TimeFormat)}}
		if sent != "" {
			h.Set("Retry-After", sent)
		}
		if capRetryAfter(&http.Response{Header: h}); h.Get("Retry-After") != want {
			t.Errorf("%q became %q, want %q", sent, h.Get("Retry-After"), want)
		}
	}
}

// TestOneAttempt: an answer that asks to come back ends the attempt, as what it is.
func TestOneAttempt(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","message":"slow down","code":429,"details":{"retryAfterSeconds":99999}}`
	var calls atomic.Int32
	text, content := "", ""
	config := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", content)
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, text)
	})
	typed, untyped, partly := clients(t, config, TransportOptions{DisableRetries: true})
	for text, content = range map[string]string{status: "application/json", "<html>": "text/html"} {
		calls.Store(0)
		err := requests["a patch"](t.Context(), typed, untyped, partly)
		after, asked := apierrors.SuggestsClientDelay(err)
		if !apierrors.IsTooManyRequests(err) || !asked || after != 5 || calls.Load() != 1 ||
			apierrors.IsUnexpectedServerError(err) != (text == "<html>") {
			t.Errorf("%v, again after %d s, %d requests", err, after, calls.Load())
		}
	}
}

// TestSilence ends requests to which nothing comes, before and in the answer, and not
// those that come slowly.
func TestSilence(t *testing.T) {
	for _, started := range []bool{false, true} {
		config := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
			if started {
				_, _ = io.WriteString(w, "{")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		typed, untyped, partly := clients(t, config, TransportOptions{SilenceTimeout: 50 * time.Millisecond})
		var silence SilenceError
		if err := requests["a list"](t.Context(), typed, untyped, partly); !errors.As(err, &silence) {
			t.Errorf("%v", err)
		}
	}
}

func TestMeter(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	date := now.Add(10 * time.Minute).Format(http.TimeFormat)
	config := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", date)
		_, _ = io.WriteString(w, "{}")
	})
	meter := NewMeter(func() time.Time { return now })
	typed, untyped, partly := clients(t, config, TransportOptions{Meter: meter})
	if _, known := meter.ClockOffset(); known {
		t.Error("the offset is known before the first answer")
	}
	_ = requests["a list"](t.Context(), typed, untyped, partly)
	offset, known := meter.ClockOffset()
	requests, bytes := meter.Totals()
	if offset.Round(time.Minute) != 10*time.Minute || !known || requests != 1 || bytes != 2 || meter.SilentFor() != 0 {
		t.Errorf("offset %s, %t; %d requests, %d bytes; silent for %s", offset, known, requests, bytes, meter.SilentFor())
	}
	now = now.Add(time.Minute)
	if meter.SilentFor() != time.Minute {
		t.Errorf("silent for %s", meter.SilentFor())
	}
}

func TestClockOffset(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		date string
		want time.Duration
	}{
		{now.Format(http.TimeFormat), 0},
		{now.Add(-time.Second).Format(http.TimeFormat), 0},
		{now.Add(time.Hour).Format(http.TimeFormat), time.Hour},
		{now.Add(-10 * time.Minute).Format(http.TimeFormat), -10 * time.Minute},
		{"", 0},
		{"yesterday", 0},
	} {
		// The answer took a second, so the middle is half a second later: what
		// the cut-off of the header makes up for.
		if got, known := ClockOffset(
			c.date,
			now,
			now.Add(time.Second),
		); got != c.want ||
			known != strings.Contains(c.date, "GMT") {
			t.Errorf("ClockOffset(%q) = %v, %t, want %v", c.date, got, known, c.want)
		}
	}
}
