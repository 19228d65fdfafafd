// Package store is an object store in memory: it hands out files over HTTP to
// those who have a signed URL, with Range and Last-Modified, and says no as S3
// says it.
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

// Path is the path below which the store answers.
const Path = "/store/"

// Key is what a file is stored for.
type Key struct {
	// Job is the kind and name of a job, such as "backup/nightly".
	Job string
	// File is the kind of the DownloadRequest that asks for it.
	File string
}

// Store keeps files. It is safe for use by several goroutines.
type Store struct {
	mu     sync.Mutex
	files  map[Key]file
	signed map[string]Key // by signature
	// known holds the jobs of which it is known what is stored; all are known
	// where complete is true.
	known    map[string]bool
	complete bool
	// otherwise makes what was not put, nil where nothing does.
	otherwise func(Key) (text []byte, modified time.Time, ok bool)
}

type file struct {
	modified time.Time
	content  []byte
}

// New makes an empty store. A complete one has nothing but what is put into it;
// of one that is not, a job is unknown until something is said about it, and
// what is unknown cannot be fetched.
func New(complete bool) *Store {
	return &Store{files: map[Key]file{}, signed: map[string]Key{}, known: map[string]bool{}, complete: complete}
}

// Know says that nothing is stored for a job but what is put.
func (s *Store) Know(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[job] = true
}

// Put stores a file as it is, which is compressed for every kind.
func (s *Store) Put(k Key, modified time.Time, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[k.Job] = true
	s.files[k] = file{modified, content}
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // into memory, which takes all
	_ = w.Close()
	return b.Bytes()
}

// Otherwise has f asked for files that were not put, unpacked. f may use the
// store.
func (s *Store) Otherwise(f func(Key) (text []byte, modified time.Time, ok bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = f
}

// Has reports whether a file was put.
func (s *Store) Has(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[k]
	return ok
}

// Text is a file that was put, unpacked, nil if there is none.
func (s *Store) Text(k Key) []byte {
	s.mu.Lock()
	f := s.files[k]
	s.mu.Unlock()
	r, err := gzip.NewReader(bytes.NewReader(f.content))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(r) // from memory; what is broken ends where it breaks
	return text
}

// PutText compresses a file and stores it.
func (s *Store) PutText(k Key, modified time.Time, text []byte) {
	s.Put(k, modified, compress(text))
}

// Sign makes the path and query by which a file can be fetched. As Velero does,
// it does not look whether there is one.
func (s *Store) Sign(k Key) string {
	signature := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed[signature] = k
	return fmt.Sprintf(
		"%sdemo/%s/%s.gz?X-Amz-Expires=600&X-Amz-Signature=%s",
		Path,
		k.Job,
		url.PathEscape(k.File),
		signature,
	)
}

// ServeHTTP answers for one file. What nobody can fetch is a connection that
// breaks.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	k, signed := s.signed[r.URL.Query().Get("X-Amz-Signature")]
	f, stored := s.files[k]
	known := s.complete || s.known[k.Job]
	otherwise := s.otherwise
	s.mu.Unlock()
	if signed && !stored && otherwise != nil {
		if text, modified, ok := otherwise(k); ok {
			f, stored = file{modified, compress(text)}, true
		}
	}
	switch {
	case !signed:
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", "The request signature does not match.")
	case stored:
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", f.modified, bytes.NewReader(f.content))
	case known:
		refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	default:
		panic(http.ErrAbortHandler)
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(
		w,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>\n",
		code,
		message,
	)
}
