// Package store is an object store in memory: it serves files over HTTP for signed URLs, with Range and
// Last-Modified, and with the errors of S3.
package store

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// PathPrefix is the prefix of the store's paths.
const PathPrefix = "/store/"

// FileKey identifies a stored file.
type FileKey struct {
	// Job is the kind and name of a job, such as "backup/nightly".
	Job string
	// File is the kind of the DownloadRequest that asks for it.
	File string
}

// Store holds files. Several goroutines may use it.
type Store struct {
	mu              sync.Mutex
	files           map[FileKey]storedFile
	keysBySignature map[string]FileKey // by signature
	// knownJobs holds the jobs whose stored files are known; if complete is true, all are.
	knownJobs map[string]bool
	complete  bool
	// fallback builds files that were not put; may be nil.
	fallback func(FileKey) (text []byte, modified time.Time, ok bool)
}

type storedFile struct {
	modified time.Time
	content  []byte
}

// New returns an empty store. A complete store has only the files put into it. In an incomplete store, a job is
// unknown until it is marked as known or a file is put for it, and the files of an unknown job cannot be fetched.
func New(complete bool) *Store {
	return &Store{
		files:           map[FileKey]storedFile{},
		keysBySignature: map[string]FileKey{},
		knownJobs:       map[string]bool{},
		complete:        complete,
	}
}

// MarkKnown marks a job as having only the files put into the store.
func (s *Store) MarkKnown(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.knownJobs[job] = true
}

// PutCompressed stores a file that is compressed already, as files of every kind are.
func (s *Store) PutCompressed(k FileKey, modified time.Time, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.knownJobs[k.Job] = true
	s.files[k] = storedFile{modified, content}
}

func gzipText(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // writing to memory cannot fail
	_ = w.Close()
	return b.Bytes()
}

// SetFallback sets the function that returns files that were not put, uncompressed. f may use the store.
func (s *Store) SetFallback(f func(FileKey) (text []byte, modified time.Time, ok bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = f
}

// HasFile reports whether a file was put.
func (s *Store) HasFile(k FileKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[k]
	return ok
}

// ReadText returns a file that was put, uncompressed, nil if there is none.
func (s *Store) ReadText(k FileKey) []byte {
	s.mu.Lock()
	f := s.files[k]
	s.mu.Unlock()
	r, err := gzip.NewReader(bytes.NewReader(f.content))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(r) // from memory; a damaged file ends where it is damaged
	return text
}

// PutText compresses a file and stores it.
func (s *Store) PutText(k FileKey, modified time.Time, text []byte) {
	s.PutCompressed(k, modified, gzipText(text))
}

// SignURL returns the path and query to fetch a file. Like Velero, it does not check whether the file exists.
func (s *Store) SignURL(k FileKey) string {
	signature := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keysBySignature[signature] = k
	return fmt.Sprintf(
		"%sdemo/%s/%s.gz?X-Amz-Expires=600&X-Amz-Signature=%s",
		PathPrefix,
		k.Job,
		url.PathEscape(k.File),
		signature,
	)
}

// ServeHTTP serves one file. It breaks the connection for a file that cannot be fetched.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	k, signed := s.keysBySignature[r.URL.Query().Get("X-Amz-Signature")]
	f, stored := s.files[k]
	known := s.complete || s.knownJobs[k.Job]
	otherwise := s.fallback
	s.mu.Unlock()
	if signed && !stored && otherwise != nil {
		if text, modified, ok := otherwise(k); ok {
			f, stored = storedFile{modified, gzipText(text)}, true
		}
	}
	switch {
	case !signed:
		writeS3Error(w, http.StatusForbidden, "SignatureDoesNotMatch", "The request signature does not match.")
	case stored:
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", f.modified, bytes.NewReader(f.content))
	case known:
		writeS3Error(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	default:
		panic(http.ErrAbortHandler)
	}
}

func writeS3Error(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(
		w,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>\n",
		code,
		message,
	)
}
