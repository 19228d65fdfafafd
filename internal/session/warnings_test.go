package session

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

type answers func() (*http.Response, error)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a() }

// A write that the API server could not store is reported until another one is stored, or
// it is old. What it refused, and what writes nothing, says nothing of that.
func TestFailedWritesAreReported(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w := &WriteFailures{Clock: func() time.Time { return now }}
	do := func(method, path string, code int, failure error) {
		transport := w.RecordWrites(
			"https://a",
		)(
			answers(func() (*http.Response, error) { return &http.Response{StatusCode: code}, failure }),
		)
		r, err := http.NewRequestWithContext(t.Context(), method, "https://a"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = transport.RoundTrip(r)
	}
	const requests = "/apis/velero.io/v1/namespaces/velero/downloadrequests"
	for _, step := range []struct {
		method, path string
		code         int
		err          error
		reported     string
	}{
		{http.MethodGet, requests, 500, nil, ""},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 500, nil, ""},
		{http.MethodPatch, requests + "/a?dryRun=All", 500, nil, ""},
		{http.MethodPost, requests, 403, nil, ""},
		{http.MethodPost, requests, 500, nil, "500 Internal Server Error"},
		{http.MethodGet, requests, 200, nil, "500"},
		{http.MethodPost, requests, 409, nil, "500"},
		{http.MethodPost, requests, 201, nil, ""},
		{http.MethodDelete, requests + "/a", 0, errors.New("connection reset"), "connection reset"},
	} {
		do(step.method, step.path, step.code, step.err)
		if got := w.LastFailure("https://a"); (got == "") != (step.reported == "") || !strings.Contains(got, step.reported) {
			t.Errorf("after %s %s, %d: %q", step.method, step.path, step.code, got)
		}
	}
	if got := w.LastFailure("https://b"); got != "" {
		t.Errorf("of another cluster: %q", got)
	}
	if now = now.Add(writeFailureAge + time.Second); w.LastFailure("https://a") != "" {
		t.Error("it is reported for ever")
	}
}
