package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// UploadHold stands between Velero and the S3 server and holds some uploads up,
// so that something can be done at exactly that moment of a job. Everything
// else passes.
type UploadHold struct {
	lab      *Lab
	server   *http.Server
	keys     []string
	released chan struct{}
	once     sync.Once

	mu              sync.Mutex
	veleroConnected bool            // Velero has come this way
	heldKeys        map[string]bool // by key
}

// HoldUploads makes Velero's server store through a hold for these keys of
// the bucket, until [UploadHold.RemoveHold].
func (l *Lab) HoldUploads(ctx context.Context, keys ...string) (*UploadHold, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("holding uploads: %w", err)
	}
	h := &UploadHold{lab: l, keys: keys, released: make(chan struct{}), heldKeys: map[string]bool{}}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", l.s3.address
		r.Out.Host = r.In.Host // the host is part of what is signed
	}}
	h.server = &http.Server{
		Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // loopback, and uploads may take long
				h.waitIfHeld(r)
				pass.ServeHTTP(w, r)
			},
		),
	}
	go func() { _ = h.server.Serve(listener) }() // ends with close
	l.uploadHolds = append(l.uploadHolds, h)
	if err := h.redirectStorage(ctx, "http://"+listener.Addr().String()); err != nil {
		return nil, err
	}
	// Velero reads the location from a cache; it validates it every few seconds.
	return h, pollUntil(ctx, "velero to store through the hold", func() (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.veleroConnected, nil
	})
}

// redirectStorage makes the storage location point to url.
func (h *UploadHold) redirectStorage(ctx context.Context, url string) error {
	var location veleroapi.BackupStorageLocation
	if err := h.lab.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: LocationName}, &location); err != nil {
		return fmt.Errorf("reading the storage location: %w", err)
	}
	before := location.DeepCopy()
	location.Spec.Config["s3Url"] = url
	if err := h.lab.Client.Patch(ctx, &location, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("leading the storage location to %s: %w", url, err)
	}
	return nil
}

// waitIfHeld returns at once for what is not held.
func (h *UploadHold) waitIfHeld(r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")
	held := r.Method == http.MethodPut && slices.Contains(h.keys, key)
	h.mu.Lock()
	h.veleroConnected = true
	if held {
		h.heldKeys[key] = true
	}
	h.mu.Unlock()
	if !held {
		return
	}
	select {
	case <-h.released:
	case <-r.Context().Done():
	}
}

// AwaitUpload waits until the upload of a key is held up.
func (h *UploadHold) AwaitUpload(ctx context.Context, key string) error {
	return pollUntil(ctx, "the upload of "+key, func() (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.heldKeys[key], nil
	})
}

// ReleaseAll lets everything pass from now on.
func (h *UploadHold) ReleaseAll() { h.once.Do(func() { close(h.released) }) }

// RemoveHold leads Velero to the S3 server again. What still comes this way, by a
// cache or a URL that was signed before, passes until the lab stops.
func (h *UploadHold) RemoveHold(ctx context.Context) error {
	return h.redirectStorage(ctx, h.lab.S3URL())
}

func (h *UploadHold) closeServer() error { return h.server.Close() }
