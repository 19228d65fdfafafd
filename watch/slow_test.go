package watch

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestDrippingList: a list that keeps coming, a byte at a time, ends at the limit, and the error names what was not read.
func TestDrippingList(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind := "BackupList"
		if strings.HasSuffix(r.URL.Path, "/restores") {
			kind = "RestoreList"
		}
		list := `{"kind":"` + kind + `","apiVersion":"velero.io/v1","metadata":{"resourceVersion":"1"},"items":[`
		if kind == "RestoreList" {
			_, _ = io.WriteString(w, list+"]}")
			return
		}
		_, _ = io.WriteString(w, list)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}))
	defer s.Close()
	o := Options{Config: &rest.Config{Host: s.URL}, Namespace: "velero"}
	_, err := Read(
		t.Context(),
		o,
		Query{Kinds: []string{Backups, Restores}, SkipVerdicts: true, SilenceTimeout: time.Minute, TotalTimeout: time.Second},
	)
	var slow *SlowError
	if !errors.As(err, &slow) || !slices.Equal(slow.Unfinished, []string{Backups}) ||
		!strings.Contains(err.Error(), "not read: "+Backups) {
		t.Errorf("%v", err)
	}
}
