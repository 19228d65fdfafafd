package store

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	s := New(false)
	at := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	s.PutCompressed(FileKey{"backup/b", "BackupLog"}, at, []byte("0123456789"))
	s.MarkKnown("restore/empty")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	get := func(path, ranged string) (*http.Response, string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ranged != "" {
			request.Header.Set("Range", ranged)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		return answer, string(body), err
	}
	log := s.SignURL(FileKey{"backup/b", "BackupLog"})
	for _, c := range []struct {
		path, ranged string
		status       int
		body         string
	}{
		{log, "", 200, "0123456789"},
		{log, "bytes=0-0", 206, "0"},
		{s.SignURL(FileKey{"backup/b", "BackupResults"}), "", 404, "NoSuchKey"},
		{s.SignURL(FileKey{"restore/empty", "RestoreLog"}), "", 404, "NoSuchKey"},
		{strings.Split(log, "?")[0], "", 403, "SignatureDoesNotMatch"},
		{log + "x", "", 403, "SignatureDoesNotMatch"},
	} {
		answer, body, err := get(c.path, c.ranged)
		if err != nil || answer.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %v %q %v, want %d with %q", c.path, answer, body, err, c.status, c.body)
		}
		if err == nil && c.status < 300 && answer.Header.Get("Last-Modified") != at.Format(http.TimeFormat) {
			t.Errorf("Last-Modified is %s", answer.Header.Get("Last-Modified"))
		}
	}
	if answer, _, err := get(s.SignURL(FileKey{"backup/unknown", "BackupLog"}), ""); err == nil {
		t.Errorf("what nobody can fetch is answered with %d", answer.StatusCode)
	}
}
