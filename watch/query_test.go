package watch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// queriedIn reads backups by name, with their volumes, from an API server that is
// played.
func queriedIn(t *testing.T, a answers, names ...string) (*Snapshot, error) {
	t.Helper()
	q := Query{EndedVolumes: true, SilenceTimeout: time.Minute}
	for _, name := range names {
		q.JobNames = append(q.JobNames, JobName{Backups, name})
	}
	return Read(
		t.Context(),
		Options{Config: &rest.Config{Host: "http://127.0.0.1", Transport: a}, Namespace: "velero"},
		q,
	)
}

// playsBackups has the backup ended with one volume, and the backup queued, whose
// verdict depends on all others. Lists of jobs are for it to refuse.
func playsBackups(mayList bool) answers {
	backup := func(name, phase string) string {
		return fmt.Sprintf(
			`{"metadata":{"name":%q,"uid":%q,"resourceVersion":"1","creationTimestamp":"2026-11-01T10:00:00Z"},"status":{"phase":%q}}`,
			name,
			name,
			phase,
		)
	}
	ended, queued := backup("ended", "Completed"), backup("queued", "Queued")
	volume := `{"metadata":{"name":"v","uid":"v","resourceVersion":"1","labels":{"velero.io/backup-uid":"ended"}},"status":{"phase":"Completed"}}`
	whole := func(items ...string) (int, string) {
		return 200, `{"metadata":{"resourceVersion":"9"},"items":[` + strings.Join(items, ",") + `]}`
	}
	return func(r *http.Request) (int, string) {
		_, path, _ := strings.Cut(r.URL.Path, "/namespaces/velero/")
		switch path {
		case "backups/ended":
			return 200, ended
		case "backups/queued":
			return 200, queued
		case "backups/odd":
			return 200, `{}`
		case "podvolumebackups":
			return whole(volume)
		case "backups", "restores":
			if !mayList {
				return 403, `{"kind":"Status","reason":"Forbidden","code":403}`
			}
			if path == "backups" {
				return whole(ended, queued)
			}
		}
		return whole()
	}
}

// TestReadKeepsWhatWasAskedFor: reading the other jobs for the sake of one verdict
// takes nothing from the jobs that were asked for.
func TestReadKeepsWhatWasAskedFor(t *testing.T) {
	for what, mayList := range map[string]bool{"who may list": true, "who may only get": false} {
		s, err := queriedIn(t, playsBackups(mayList), "ended", "queued")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if ended := jobNamed(s, "ended"); ended == nil || len(ended.Volumes) != 1 || jobNamed(s, "queued") == nil {
			t.Errorf("%s: %v, ended: %+v", what, jobNames(s.Jobs), ended)
		}
	}
}

func TestReadTakesNoOtherObjectForAnAnswer(t *testing.T) {
	if s, err := queriedIn(t, playsBackups(true), "odd"); err == nil {
		t.Errorf("%d jobs", len(s.Jobs))
	}
}

// TestReadBySelectorLeavesItToTheServer: labels are the API server's to compare, and
// volumes are read of those jobs only that it found.
func TestReadBySelectorLeavesItToTheServer(t *testing.T) {
	selector, err := labels.Parse("velero.io/schedule-name=nightly")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	answer := func(r *http.Request) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		_, path, _ := strings.Cut(r.URL.Path, "/namespaces/velero/")
		asked = append(asked, path+"?"+r.URL.Query().Get("labelSelector"))
		items := ""
		if path == "backups" {
			items = `{"metadata":{"name":"n","uid":"u","resourceVersion":"1","labels":{"velero.io/schedule-name":"nightly"}},"status":{"phase":"Completed"}}`
		}
		return 200, `{"metadata":{"resourceVersion":"9"},"items":[` + items + `]}`
	}
	snap, err := Read(
		t.Context(),
		Options{Config: &rest.Config{Host: "http://127.0.0.1", Transport: answers(answer)}, Namespace: "velero"},
		Query{Kinds: []string{Backups}, Selector: selector, EndedVolumes: true, SilenceTimeout: time.Minute},
	)
	if err != nil || len(snap.Jobs) != 1 {
		t.Fatalf("%v, %+v", err, snap)
	}
	slices.Sort(asked)
	want := []string{
		"backups?velero.io/schedule-name=nightly",
		"datauploads?velero.io/backup-uid in (u)",
		"podvolumebackups?velero.io/backup-uid in (u)",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
