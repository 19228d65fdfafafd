package sim

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bucket is the name of the simulated bucket.
const Bucket = "velero"

// blob is one stored object. Its bytes are made when they are asked for, so
// that hundreds of backups cost nothing.
type blob struct {
	make     func() ([]byte, error)
	modified time.Time
}

// Storage is an object store on loopback. What it holds is reached by keys of
// Velero's layout (pkg/persistence/object_store_layout.go), and over HTTP only
// by URLs that it signed itself.
type Storage struct {
	clock  func() time.Time
	server *http.Server
	base   string

	mu     sync.Mutex
	blobs  map[string]blob
	grants map[string]grant
}

// grant is what one signed URL allows.
type grant struct {
	key     string
	expires time.Time
}

func newStorage(clock func() time.Time) (*Storage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the object store: %w", err)
	}
	s := &Storage{
		clock:  clock,
		base:   "http://" + listener.Addr().String(),
		blobs:  map[string]blob{},
		grants: map[string]grant{},
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// URL is where the store listens.
func (s *Storage) URL() string { return s.base }

func (s *Storage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(err, s.server.Close())
	}
	return nil
}

func (s *Storage) put(key string, modified time.Time, make func() ([]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[key] = blob{make, modified}
}

// removeAll deletes every object whose key begins with prefix.
func (s *Storage) removeAll(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.blobs {
		if strings.HasPrefix(key, prefix) {
			delete(s.blobs, key)
		}
	}
}

// holds reports whether any object's key begins with prefix.
func (s *Storage) holds(prefix string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.blobs {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// sign returns a URL that gives the object at key until expires, whether or
// not there is such an object, as signing an S3 URL does.
func (s *Storage) sign(key string, expires time.Time) (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("signing a URL: %w", err)
	}
	signature := hex.EncodeToString(secret)
	now := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, g := range s.grants {
		if now.After(g.expires.Add(time.Hour)) {
			delete(s.grants, old)
		}
	}
	s.grants[signature] = grant{key, expires}
	query := url.Values{"X-Demo-Expires": {expires.UTC().Format(time.RFC3339)}, "X-Demo-Signature": {signature}}
	return s.base + "/" + Bucket + "/" + key + "?" + query.Encode(), nil
}

// ServeHTTP answers GET and HEAD with the object, ranges included; 403 for a
// URL that was not signed or has expired, 404 for an object that is not there.
func (s *Storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
		return
	}
	key := strings.TrimPrefix(r.URL.Path, "/"+Bucket+"/")
	s.mu.Lock()
	g, signed := s.grants[r.URL.Query().Get("X-Demo-Signature")]
	object, found := s.blobs[key]
	s.mu.Unlock()
	switch {
	case !signed || g.key != key || s.clock().After(g.expires):
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	case !found:
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	body, err := object.make()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", object.modified, bytes.NewReader(body))
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code></Error>`, code)
}
