package action

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// known puts an object that Velero knows.
func (b *sendBench) known(resource, kind, name string, spec, status map[string]any, labels ...string) {
	b.api.put(fakeNamespace+resource+"/"+name, func(o map[string]any) {
		marks := map[string]any{}
		for i := 0; i < len(labels); i += 2 {
			marks[labels[i]] = labels[i+1]
		}
		o["apiVersion"], o["kind"] = "velero.io/v1", kind
		o["metadata"] = map[string]any{"name": name, "namespace": "velero", "uid": "u-" + name, "labels": marks,
			"managedFields": []any{map[string]any{"manager": "velero-server", "operation": "Update", "time": b.start.UTC().Format(time.RFC3339)}}}
		o["spec"], o["status"] = spec, status
	})
}

const sourcePath = fakeNamespace + "backups/source"

func (b *sendBench) source(change func(metadata, spec, status map[string]any)) {
	b.api.put(sourcePath, func(o map[string]any) {
		change(o["metadata"].(map[string]any), o["spec"].(map[string]any), o["status"].(map[string]any))
	})
}

// What Velero would refuse, what runs, and what may be another cluster's is not deleted.
func TestDeleteBackupRefuses(t *testing.T) {
	a := deleteBackupSend(t)
	request := func(b *sendBench, phase string, errors ...any) {
		b.known("deletebackuprequests", "DeleteBackupRequest", "source-x", map[string]any{"backupName": "source"}, map[string]any{"phase": phase, "errors": errors})
	}
	for name, c := range map[string]struct {
		change func(*sendBench)
		want   string
	}{
		"no such backup": {func(b *sendBench) { b.api.delete(sourcePath) }, "there is no backup source in namespace velero"},
		"it goes on":     {func(b *sendBench) { b.phase("Finalizing") }, "backup/source has not ended"},
		"it is queued":   {func(b *sendBench) { b.phase("Queued") }, "backup/source has not ended"},
		"a phase is new": {func(b *sendBench) { b.phase("Archiving") }, "backup/source has not ended"},
		"it was synced":  {func(b *sendBench) { b.source(func(m, _, _ map[string]any) { m["generation"] = int64(1) }) }, "this cluster did not run it"},
		"its name was taken": {func(b *sendBench) {
			b.source(func(_, _, s map[string]any) {
				s["phase"], s["failureReason"] = "Failed", "backup already exists in object storage"
			})
		}, "its name was taken in the object store"},
		"it never began": {func(b *sendBench) {
			b.source(func(_, _, s map[string]any) { s["phase"] = "FailedValidation"; delete(s, "startTimestamp") })
		}, "it never began"},
		"no location":              {func(b *sendBench) { b.source(func(_, s, _ map[string]any) { delete(s, "storageLocation") }) }, "cannot tell whether Velero can delete from the backup's storage location: it names none"},
		"its location is gone":     {func(b *sendBench) { b.api.delete(fakeNamespace + "backupstoragelocations/default") }, "storage location default does not exist: Velero would refuse it"},
		"a read-only location":     {func(b *sendBench) { b.location("ReadOnly", "Available") }, "storage location default is read-only: Velero would refuse it"},
		"a location not available": {func(b *sendBench) { b.location("ReadWrite", "Unavailable") }, "storage location default is not available"},
		"a location not looked at": {func(b *sendBench) { b.location("ReadWrite", "") }, "storage location default is not available"},
		"a restore reads it": {func(b *sendBench) {
			b.known("restores", "Restore", "r", map[string]any{"backupName": "source"}, map[string]any{"phase": "InProgress"})
		}, "1 restore reads it: r"},
		"a restore may read it": {func(b *sendBench) {
			b.source(func(m, _, _ map[string]any) { m["labels"] = map[string]any{"velero.io/schedule-name": "nightly"} })
			b.known("restores", "Restore", "r", map[string]any{"scheduleName": "nightly"}, map[string]any{})
		}, "1 restore reads it: r"},
		"its deletion is requested": {func(b *sendBench) { request(b, "") }, "its deletion is requested already: source-x is no phase"},
		"its deletion goes on": {func(b *sendBench) {
			request(b, "InProgress")
			b.server(b.start.Add(-time.Hour))
		}, "its deletion is requested already: source-x is InProgress"},
		"nobody may list deletions": {func(b *sendBench) { b.forbid("deletebackuprequests") }, "cannot tell what else it deletes"},
		"nobody may list restores":  {func(b *sendBench) { b.forbid("restores") }, "cannot tell what else it deletes"},
	} {
		if p := proposed(t, a, c.change); p.Possible() || !strings.HasPrefix(p.Refusal, c.want) || p.Advice == "" {
			t.Errorf("%s: %q, %q", name, p.Refusal, p.Advice)
		}
	}
	// What failed, or was left by a server that is gone, is explained and requested again.
	for name, c := range map[string]struct {
		change func(*sendBench)
		want   string
	}{
		"a request failed":   {func(b *sendBench) { b.phase("Deleting"); request(b, "Processed", "the store says no") }, "request source-x failed, and Velero does not try it again: the store says no"},
		"its server is gone": {func(b *sendBench) { b.phase("Deleting"); request(b, "InProgress") }, "a server that is gone began with request source-x"},
		"no request is left": {func(b *sendBench) { b.phase("Deleting") }, "backup/source is Deleting"},
	} {
		if p := proposed(t, a, c.change); !p.Possible() || !slices.ContainsFunc(p.doubts(), func(d string) bool { return strings.HasPrefix(d, numbers.ReplaceAllString(c.want, "#")) }) {
			t.Errorf("%s: %q %q", name, p.Refusal, p.doubts())
		}
	}
}

// forbid lets nobody list a resource.
func (b *sendBench) forbid(resource string) {
	b.api.tamper = func(_ string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		if strings.HasSuffix(r.URL.Path, "/"+resource) && r.Method == "GET" {
			return statusAnswer(r, 403, "Forbidden"), nil
		}
		return serve(), nil
	}
}

// A plan says what goes with the backup, and whether another holds the same.
func TestDeleteBackupConsequences(t *testing.T) {
	a := deleteBackupSend(t)
	p := proposed(t, a, func(b *sendBench) {
		b.source(func(_, _, s map[string]any) { s["csiVolumeSnapshotsCompleted"] = int64(2) })
		for _, name := range []string{"r1", "r2"} {
			b.known("restores", "Restore", name, map[string]any{"backupName": "source"}, map[string]any{"phase": "Completed"})
		}
		b.known("restores", "Restore", "other", map[string]any{"backupName": "another"}, map[string]any{"phase": "InProgress"})
		b.known("podvolumebackups", "PodVolumeBackup", "v", map[string]any{}, map[string]any{"phase": "Completed"}, "velero.io/backup-uid", "b-1")
	})
	will := strings.Join(append(p.Will, p.WillNot...), "\n")
	for _, want := range []string{"in storage location default, the data of 1 volume, and 2 snapshots", "its 2 restores, with log and results: r1 and r2",
		"the request names no uid", "delete what its restores have restored"} {
		if !strings.Contains(will, want) {
			t.Errorf("%q is not in\n%s", want, will)
		}
	}
	if len(p.Commands) != 1 || !strings.HasPrefix(p.Commands[0], "velero backup delete source --confirm") || p.Program() != "velero" {
		t.Errorf("%q", p.Commands)
	}
	if got := p.targets[0]; !maps.Equal(got.GetLabels(), map[string]string{"velero.io/backup-name": "source", "velero.io/backup-uid": "b-1"}) || fmt.Sprint(got.Object["spec"]) != "map[backupName:source]" {
		t.Errorf("%v", got.Object)
	}
	backup := func(spec map[string]any, phase string, labels ...string) func(*sendBench) {
		return func(b *sendBench) {
			b.source(func(m, _, _ map[string]any) { m["labels"] = map[string]any{"velero.io/schedule-name": "nightly"} })
			b.known("backups", "Backup", "other", spec, map[string]any{"phase": phase}, labels...)
		}
	}
	for name, c := range map[string]struct {
		change func(*sendBench)
		last   bool
	}{
		"alone":                     {func(*sendBench) {}, true},
		"another of its schedule":   {backup(map[string]any{"includedNamespaces": []any{"else"}}, "Completed", "velero.io/schedule-name", "nightly"), false},
		"one of all namespaces":     {backup(map[string]any{}, "Completed"), false},
		"one without its namespace": {backup(map[string]any{"excludedNamespaces": []any{"shop"}}, "Completed"), true},
		"one of other namespaces":   {backup(map[string]any{"includedNamespaces": []any{"crm"}}, "Completed"), true},
		"one of few resources":      {backup(map[string]any{"includedResources": []any{"pods"}}, "Completed"), true},
		"one that failed":           {backup(map[string]any{}, "PartiallyFailed"), true},
		"one that is being deleted": {backup(map[string]any{}, "Deleting"), true},
	} {
		p := proposed(t, a, c.change)
		if last := slices.ContainsFunc(p.doubts(), func(d string) bool { return strings.Contains(d, "of its schedule") }); last != c.last || !p.Possible() {
			t.Errorf("%s: last %v, %q %q", name, last, p.Refusal, p.doubts())
		}
	}
}

// Who asks for it deletes what another cluster may own, and the plan says for whom.
func TestDeleteBackupOfAnotherCluster(t *testing.T) {
	a := deleteBackupSend(t)
	synced := func(b *sendBench) { b.source(func(m, _, _ map[string]any) { m["generation"] = int64(1) }) }
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{FromAnotherCluster: true})
	if p := proposed(t, a, synced); !p.Possible() || !says(p.Will, "for every cluster that reads that storage location") {
		t.Errorf("%q %q", p.Refusal, p.Will)
	}
	// Nothing else is let pass with it.
	if p := proposed(t, a, func(b *sendBench) { synced(b); b.location("ReadOnly", "Available") }); p.Possible() {
		t.Error("from a read-only location")
	}
}

func TestDeleteRestoreRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o map[string]any)
		want   string
	}{
		"it runs":             {func(o map[string]any) { o["status"] = map[string]any{"phase": "InProgress"} }, "restore/r has not ended, and deleting it does not stop it"},
		"it has not begun":    {func(o map[string]any) { delete(o, "status") }, "restore/r has not ended"},
		"it is being deleted": {func(o map[string]any) { o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-20T00:00:00Z" }, "restore/r is being deleted, held by " + heldByVelero},
		"somebody ended it, and it goes on": {func(o map[string]any) {
			at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
			o["metadata"].(map[string]any)["managedFields"] = []any{
				map[string]any{"manager": "veltui", "operation": "Update", "time": at(-time.Minute), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:status": map[string]any{"f:phase": map[string]any{}}}},
				map[string]any{"manager": "velero-server", "operation": "Update", "time": at(-time.Second)}}
		}, "somebody wrote the phase of restore/r, and Velero goes on with it"},
	} {
		p := proposed(t, deleteRestoreSend, func(b *sendBench) { b.api.put(b.path, c.change) })
		if p.Possible() || !strings.HasPrefix(p.Refusal, c.want) || p.Advice == "" {
			t.Errorf("%s: %q, %q", name, p.Refusal, p.Advice)
		}
	}
	if p := proposed(t, deleteRestoreSend, func(b *sendBench) { b.api.delete(b.path) }); p.Refusal != "there is no restore r in namespace velero" {
		t.Errorf("%q", p.Refusal)
	}
	for want, change := range map[string]func(*sendBench){
		"its backup no longer exists": func(b *sendBench) { b.api.delete(sourcePath) },
		"its files are in storage location default, which is not known to be available": func(b *sendBench) { b.location("ReadWrite", "Unavailable") },
		"no Velero server is running": func(b *sendBench) { b.api.delete("/api/v1/namespaces/velero/pods/velero-0") },
	} {
		p := proposed(t, deleteRestoreSend, change)
		if !p.Possible() || !slices.ContainsFunc(p.doubts(), func(d string) bool { return strings.HasPrefix(d, want) }) || !says(p.WillNot, "the objects and their data stay") {
			t.Errorf("%s: %q %q", want, p.Refusal, p.doubts())
		}
	}
}
