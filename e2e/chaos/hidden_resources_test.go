package main

import (
	"path/filepath"
	"testing"
	"time"
)

func TestRequestedResource(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/velero/pods":                         "pods",
		"/api/v1/namespaces/velero/pods/velero-1":                "pods",
		"/api/v1/namespaces/velero/pods/velero-1/log":            "pods/log",
		"/api/v1/namespaces":                                     "namespaces",
		"/api/v1/namespaces/velero":                              "namespaces",
		"/api/v1/nodes/a":                                        "nodes",
		"/apis/apps/v1/namespaces/velero/daemonsets":             "daemonsets",
		"/apis/velero.io/v1/backups":                             "backups",
		"/apis/velero.io/v2alpha1/namespaces/velero/datauploads": "datauploads",
		"/apis": "",
		"/":     "",
	} {
		if got := requestedResource(path); got != want {
			t.Errorf("%s asks for %q, want %q", path, got, want)
		}
	}
}

// TestHiddenResources judges dead jobs by those who may not read what proves it.
func TestHiddenResources(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for name, hidden := range map[string][]string{
		"forgotten-ready": {"pods"},
		"mover-pod-gone":  {"pods", "datauploads"}, "deletion-failed": {"deletebackuprequests"},
	} {
		s := load(t, filepath.Join(scenarios, name+".yaml"), now)
		if v := verdictOn(t, recordingOf(s, now), s.Expect.Job, now); !v.isAlarm() {
			t.Errorf("%s: with all seen it is %s (%s)", name, v.State, v.Reason)
		}
		for _, resource := range hidden {
			if v := verdictOn(t, recordingOf(s, now), s.Expect.Job, now, resource); v.isAlarm() {
				t.Errorf("%s, %s hidden: it is %s (%s): %s", name, resource, v.State, v.Reason, v.Summary)
			}
		}
	}
}
