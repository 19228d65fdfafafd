package cmd

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// answerOf returns an answer with a status, a body and headers.
func answerOf(status int, body []byte, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

func packGzip(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a store, or a proxy before it, answers in place of a stored file is named, by every command that reads one.
func TestAnswersOfAnObjectStore(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-answers", veleroapi.BackupPhaseCompleted)
	now := metav1.Now()
	answered := restore("answered", veleroapi.RestoreStatus{
		Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 1, StartTimestamp: &now, CompletionTimestamp: &now,
	})
	answered.Spec.BackupName = "b-answers"
	b.create(t, answered)
	log := []byte("time=\"" + time.Now().UTC().Format(time.RFC3339) + "\" level=error msg=\"not restored\"\n")
	results := []byte(`{"errors":{"velero":["x"]}}`)
	file, err := os.Open(captureTarball)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	tarball, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	page := []byte("<html><head><title>Login</title></head><body>Please sign in to the corporate proxy</body></html>")
	const readsLog, readsResults, estimates = "logs restore/answered", "results restore/answered", "estimate backup/b-answers"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		// says is what each command prints, and code its exit code.
		says map[string]string
		code int
	}{
		"unpacked on the way":    {answerOf(200, log, "Content-Type", "text/plain"), map[string]string{readsLog: "not restored"}, ExitOK},
		"unpacked by the client": {answerOf(200, packGzip(t, log), "Content-Encoding", "gzip"), map[string]string{readsLog: "not restored"}, ExitOK},
		"unpacked results":       {answerOf(200, results), map[string]string{readsResults: "errors, velero (1)"}, ExitPartiallyFailed},
		"an unpacked tarball":    {answerOf(200, tarball, "Content-Type", "application/x-tar"), map[string]string{estimates: "items"}, ExitOK},
		"a page": {answerOf(200, page, "Content-Type", "text/html"), map[string]string{
			readsLog: "answers with an HTML page (Login)", readsResults: "answers with an HTML page (Login)",
			estimates: "answers with an HTML page (Login)",
		}, ExitError},
		"a page with an error": {answerOf(502, page, "Content-Type", "text/html"), map[string]string{
			readsLog: "answers 502 Bad Gateway, with an HTML page (Login)", readsResults: "answers 502 Bad Gateway",
			estimates: "answers 502 Bad Gateway",
		}, ExitError},
		"a page in place of a missing file": {answerOf(404, page, "Content-Type", "text/html"), map[string]string{
			readsLog: "answers 404 Not Found, with an HTML page (Login)", readsResults: "cannot tell whether it is in the object store",
			estimates: "cannot tell whether it is in the object store",
		}, ExitError},
		"a proxy": {answerOf(407, []byte("<html>Proxy Authentication Required</html>")), map[string]string{
			readsLog: "407 Proxy Authentication Required", readsResults: "407 Proxy Authentication Required",
			estimates: "407 Proxy Authentication Required",
		}, ExitError},
		"a redirect": {answerOf(307, nil, "Location", "http://127.0.0.2:28080/x"), map[string]string{
			readsLog: "127.0.0.2:28080", readsResults: "127.0.0.2:28080", estimates: "127.0.0.2:28080",
		}, ExitError},
		"a refusal": {answerOf(403, []byte(`<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code>`+
			`<Message>The request signature we calculated does not match</Message></Error>`)), map[string]string{
			readsLog:     "403 Forbidden (SignatureDoesNotMatch: The request signature we calculated does not match)",
			readsResults: "403 Forbidden (SignatureDoesNotMatch: The request signature we calculated does not match)",
			estimates:    "403 Forbidden (SignatureDoesNotMatch: The request signature we calculated does not match)",
		}, ExitError},
		"an archive of another kind": {answerOf(200, []byte("PK\x03\x04 and more of it")), map[string]string{
			readsLog: "is a zip", estimates: "zip",
		}, ExitError},
	} {
		s.answer.Store(&c.answer)
		for command, says := range c.says {
			stdout, stderr, code := b.run(t, append(strings.Fields(command), "-n", "velero", "--allow-plain-http")...)
			if code != c.code || !strings.Contains(stdout+stderr, says) {
				t.Errorf("%s: %s: exit code %d, want %d and %q in\n%s%s", name, command, code, c.code, says, stdout, stderr)
			}
			if strings.Contains(stdout, "<html>") {
				t.Errorf("%s: %s prints the page:\n%s", name, command, stdout)
			}
		}
	}
}
