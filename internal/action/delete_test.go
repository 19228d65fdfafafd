package action

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
)

// known puts an object that Velero knows.
func (b *sendBench) known(resource, kind, name string, spec, status map[string]any, labels ...string) {
	b.api.put(fakeNamespace+resource+"/"+name, func(o map[string]any) {
		marks := map[string]any{}
		for i := 0; i < len(labels); i += 2 {
			marks[labels[i]] = labels[i+1]
		}
		o["apiVersion"], o["kind"] = "velero.io/v1", kind
		o["metadata"] = map[string]any{
			"name":      name,
			"namespace": "velero",
			"uid":       "u-" + name,
			"labels":    marks,
			"managedFields": []any{
				map[string]any{
					"manager":   "velero-server",
					"operation": "Update",
					"time":      b.start.UTC().Format(time.RFC3339),
				},
			},
		}
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
		b.known(
			"deletebackuprequests",
			"DeleteBackupRequest",
			"source-x",
			map[string]any{"backupName": "source"},
			map[string]any{"phase": phase, "errors": errors},
		)
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
		if p := proposed(t, a, c.change); p.IsPossible() || !strings.HasPrefix(p.Refusal, c.want) || p.Advice == "" {
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
		if p := proposed(
			t,
			a,
			c.change,
		); !p.IsPossible() ||
			!slices.ContainsFunc(
				p.doubtTexts(),
				func(d string) bool { return strings.HasPrefix(d, numbersPattern.ReplaceAllString(c.want, "#")) },
			) {
			t.Errorf("%s: %q %q", name, p.Refusal, p.doubtTexts())
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
			b.known(
				"restores",
				"Restore",
				name,
				map[string]any{"backupName": "source"},
				map[string]any{"phase": "Completed"},
			)
		}
		b.known(
			"restores",
			"Restore",
			"other",
			map[string]any{"backupName": "another"},
			map[string]any{"phase": "InProgress"},
		)
		b.known(
			"podvolumebackups",
			"PodVolumeBackup",
			"v",
			map[string]any{},
			map[string]any{"phase": "Completed"},
			"velero.io/backup-uid",
			"b-1",
		)
	})
	will := strings.Join(append(p.Will, p.WillNot...), "\n")
	for _, want := range []string{"in storage location default, the data of 1 volume, and 2 snapshots", "its 2 restores, with log and results: r1 and r2",
		"the request names no uid", "delete what its restores have restored"} {
		if !strings.Contains(will, want) {
			t.Errorf("%q is not in\n%s", want, will)
		}
	}
	if len(p.Commands) != 1 || !strings.HasPrefix(p.Commands[0], "velero backup delete source --confirm") ||
		p.CommandProgram() != "velero" {
		t.Errorf("%q", p.Commands)
	}
	if got := p.targets[0]; !maps.Equal(
		got.GetLabels(),
		map[string]string{"velero.io/backup-name": "source", "velero.io/backup-uid": "b-1"},
	) ||
		fmt.Sprint(got.Object["spec"]) != "map[backupName:source]" {
		t.Errorf("%v", got.Object)
	}
}

// copyOf puts another backup that this cluster made a day ago, and changes it.
func (b *sendBench) copyOf(name string, change func(metadata, spec, status map[string]any)) {
	at := b.start.Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	b.api.put(fakeNamespace+"backups/"+name, func(o map[string]any) {
		metadata := map[string]any{
			"name":              name,
			"namespace":         "velero",
			"uid":               "u-" + name,
			"generation":        int64(8),
			"creationTimestamp": at,
			"labels":            map[string]any{"velero.io/schedule-name": "nightly"},
		}
		spec := map[string]any{"storageLocation": "default", "includedNamespaces": []any{"shop"}}
		status := map[string]any{"phase": "Completed", "startTimestamp": at, "completionTimestamp": at}
		if change != nil {
			change(metadata, spec, status)
		}
		o["apiVersion"], o["kind"], o["metadata"], o["spec"], o["status"] = "velero.io/v1", "Backup", metadata, spec, status
	})
}

func (b *sendBench) scheduled() {
	b.source(func(m, _, _ map[string]any) { m["labels"] = map[string]any{"velero.io/schedule-name": "nightly"} })
}

func (b *sendBench) deletionRequest(backup, phase string, errors ...any) {
	name := backup + "-x"
	b.known(
		"deletebackuprequests",
		"DeleteBackupRequest",
		name,
		map[string]any{"backupName": backup},
		map[string]any{"phase": phase, "errors": errors},
	)
	b.api.put(fakeNamespace+"deletebackuprequests/"+name, func(o map[string]any) {
		o["metadata"].(map[string]any)["creationTimestamp"] = b.start.UTC().Format(time.RFC3339)
	})
}

func (b *sendBench) secondLocation(name, phase string) {
	b.known("backupstoragelocations", "BackupStorageLocation", name, map[string]any{}, map[string]any{"phase": phase})
}

// The last backup of a schedule goes only with the consent to that. No copy is what cannot be restored from once the
// backup is deleted, and the plan says why.
func TestDeleteBackupCopies(t *testing.T) {
	a := deleteBackupSend(t)
	set := func(key string, value any) func(map[string]any) { return func(m map[string]any) { m[key] = value } }
	inMetadata := func(f func(map[string]any)) func(*sendBench) {
		return func(b *sendBench) { b.copyOf("n-2", func(m, _, _ map[string]any) { f(m) }) }
	}
	inSpec := func(f func(map[string]any)) func(*sendBench) {
		return func(b *sendBench) { b.copyOf("n-2", func(_, s, _ map[string]any) { f(s) }) }
	}
	inStatus := func(f func(map[string]any)) func(*sendBench) {
		return func(b *sendBench) { b.copyOf("n-2", func(_, _, s map[string]any) { f(s) }) }
	}
	requested := func(phase string, errors ...any) func(*sendBench) {
		return func(b *sendBench) { b.copyOf("n-2", nil); b.deletionRequest("n-2", phase, errors...) }
	}
	elsewhere := func(phase string) func(*sendBench) {
		return func(b *sendBench) { inSpec(set("storageLocation", "nas"))(b); b.secondLocation("nas", phase) }
	}
	expiring := func(in time.Duration) func(*sendBench) {
		return func(b *sendBench) {
			inStatus(set("expiration", b.start.Add(2*time.Hour+in).UTC().Format(time.RFC3339)))(b)
		}
	}
	// holding is a copy with other filters, and with some of as many items as the backup holds.
	holding := func(spec map[string]any, some, all int64) func(*sendBench) {
		return func(b *sendBench) {
			progress := func(items int64) map[string]any {
				return map[string]any{"itemsBackedUp": items, "totalItems": items}
			}
			b.copyOf("n-2", func(_, s, status map[string]any) {
				maps.Copy(s, spec)
				status["progress"] = progress(some)
			})
			b.source(func(_, _, status map[string]any) { status["progress"] = progress(all) })
		}
	}
	ago := "1999-12-31T23:00:00Z"
	for name, c := range map[string]struct {
		change func(*sendBench)
		fact   string // what is said of n-2, empty for a copy
	}{
		"a copy":                     {func(b *sendBench) { b.copyOf("n-2", nil) }, ""},
		"a copy elsewhere":           {elsewhere("Available"), ""},
		"one that expires later":     {expiring(3 * time.Hour), ""},
		"requested":                  {requested(""), "n-2 does not count: deletion is requested"},
		"requested, as New":          {requested("New"), "n-2 does not count: deletion is requested"},
		"requested, and begun":       {requested("InProgress"), "n-2 does not count: deletion is requested"},
		"requested, and failed":      {requested("Processed", "no"), "n-2 does not count: deletion was requested and failed"},
		"processed without an error": {requested("Processed"), "n-2 does not count: deleted, as Velero says"},
		"being deleted":              {inMetadata(set("deletionTimestamp", ago)), "n-2 does not count: being deleted"},
		"Deleting":                   {inStatus(set("phase", "Deleting")), "n-2 does not count: being deleted"},
		"it has errors":              {inStatus(set("phase", "PartiallyFailed")), "n-2 does not count: PartiallyFailed"},
		"it runs":                    {inStatus(set("phase", "InProgress")), "n-2 does not count: not ended"},
		"an unknown phase":           {inStatus(set("phase", "Archived")), "n-2 does not count: not ended"},
		"it has expired":             {expiring(-time.Minute), "n-2 does not count: expired"},
		"it expires in 20 seconds":   {expiring(20 * time.Second), "n-2 does not count: expires at 00:00 UTC"},
		"as many items":              {holding(nil, 100, 100), ""},
		"some more items":            {holding(nil, 60, 100), ""},
		"it holds nothing":           {holding(nil, 0, 100), "n-2 does not count: it holds no item"},
		"it holds far less":          {holding(nil, 40, 100), "n-2 does not count: it holds 40 items, source holds 100"},
		"neither holds anything":     {holding(nil, 0, 0), ""},
		"its template lost a kind": {holding(map[string]any{"excludedResources": []any{"secrets"}}, 90, 100),
			"n-2 does not count: its filters leave out what source holds"},
		"its template has a selector": {holding(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}, 90, 100),
			"n-2 does not count: its filters leave out what source holds"},
		"its template has a policy that may skip volumes": {holding(map[string]any{"resourcePolicy": map[string]any{"kind": "ConfigMap", "name": "p"}}, 90, 100),
			"n-2 does not count: its filters leave out what source holds"},
		"its template has no cluster scope": {holding(map[string]any{"includeClusterResources": false}, 90, 100),
			"n-2 does not count: its filters leave out what source holds"},
		"its template has another namespace":     {holding(map[string]any{"includedNamespaces": []any{"crm"}}, 90, 100), "n-2 does not count: its filters leave out what source holds"},
		"its template has one namespace more":    {holding(map[string]any{"includedNamespaces": []any{"shop", "crm"}}, 190, 100), ""},
		"its template is kept for another time":  {holding(map[string]any{"ttl": "24h0m0s", "csiSnapshotTimeout": "5m0s"}, 100, 100), ""},
		"its template moves the data of volumes": {holding(map[string]any{"snapshotMoveData": true}, 100, 100), ""},
		"its location is gone":                   {inSpec(set("storageLocation", "nas")), "n-2 does not count: storage location nas does not exist"},
		"its location is down":                   {elsewhere("Unavailable"), "n-2 does not count: storage location nas is Unavailable"},
		"its location is unchecked":              {elsewhere(""), "n-2 does not count: Velero has not checked storage location nas"},
		"its location is unread": {func(b *sendBench) { elsewhere("Available")(b); b.forbid("backupstoragelocations") },
			"n-2 does not count: whether storage location nas is available is unknown"},
		"it names no location": {inSpec(func(s map[string]any) { delete(s, "storageLocation") }), "n-2 does not count: no storage location is named"},
		"another cluster's":    {inMetadata(set("generation", int64(1))), "n-2 does not count: this cluster did not run it"},
		"whose is unknown":     {inMetadata(func(m map[string]any) { delete(m, "generation") }), "n-2 does not count: whether this cluster made it is unknown"},
		"of another schedule":  {inMetadata(set("labels", map[string]any{"velero.io/schedule-name": "else"})), "1 other completed backup holds its namespaces, by their filters: n-2"},
		"of other namespaces": {func(b *sendBench) {
			b.copyOf("n-2", func(m, s, _ map[string]any) { delete(m, "labels"); s["includedNamespaces"] = []any{"crm"} })
		}, ""},
		// Of the same schedule, and yet no copy of what the source holds.
		"it holds no item":     {inStatus(set("progress", map[string]any{"totalItems": int64(0), "itemsBackedUp": int64(0)})), "n-2 does not count: "},
		"of fewer namespaces":  {inSpec(set("includedNamespaces", []any{"crm"})), "n-2 does not count: "},
		"of few resources":     {inSpec(set("includedResources", []any{"configmaps"})), "n-2 does not count: "},
		"without volumes":      {inSpec(set("snapshotVolumes", false)), "n-2 does not count: "},
		"of some labels":       {inSpec(set("labelSelector", map[string]any{"matchLabels": map[string]any{"no": "thing"}})), "n-2 does not count: "},
		"it expires at once":   {expiring(20 * time.Second), "n-2 does not count: "},
		"it is marked as well": {func(b *sendBench) { b.copyOf("marked", nil) }, "marked does not count: marked for deletion, too"},
		"two for two reasons":  {func(b *sendBench) { requested("New")(b); b.copyOf("marked", nil) }, "marked does not count: marked for deletion, too"},
		"two for the same":     {func(b *sendBench) { requested("New")(b); b.copyOf("n-3", nil); b.deletionRequest("n-3", "New") }, "n-2 and n-3 do not count: deletion is requested"},
	} {
		change := func(b *sendBench) { b.scheduled(); c.change(b) }
		refused := func(r Request) Plan {
			a.plan = proposing(DeleteBackup, "Backup", "source", r)
			return proposed(t, a, change)
		}
		p := refused(Request{MarkedBackups: []string{"source", "marked"}})
		said := func(want string) bool {
			return slices.ContainsFunc(
				p.Facts(),
				func(f diagnosis.Fact) bool { return strings.HasPrefix(f.Text, want) },
			)
		}
		if copies := c.fact == "" && name != "of other namespaces"; copies {
			if !p.IsPossible() || !said("1 other completed backup of schedule nightly: n-2") || says(p.Will, "LAST") {
				t.Errorf("%s: %q %v", name, p.Refusal, p.Facts())
			}
			continue
		}
		if p.IsPossible() || !strings.HasPrefix(p.Refusal, "it is the LAST completed backup of schedule nightly: ") ||
			!strings.Contains(p.Advice, "--last-copy") ||
			!said(c.fact) {
			t.Errorf("%s: %q %q %v", name, p.Refusal, p.Advice, p.Facts())
		}
		q, ok := p.AcceptLastCopy()
		if p = refused(
			Request{MarkedBackups: []string{"source", "marked"}, AllowLastCopy: true},
		); !ok || !p.IsPossible() || !says(p.Will, "delete the LAST completed backup of schedule nightly: ") ||
			!q.IsEquivalent(&p) {
			t.Errorf("%s, with consent: %q %q, in the dialog %v %q", name, p.Refusal, p.Will, ok, q.Will)
		}
	}
}

// A backup that no schedule made is replaced by those that hold all its namespaces.
func TestDeleteBackupCopiesOfNamespaces(t *testing.T) {
	a := deleteBackupSend(t)
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{})
	with := func(spec map[string]any) func(*sendBench) {
		spec["storageLocation"] = "default"
		return func(b *sendBench) {
			b.copyOf("other", func(_, s, _ map[string]any) { clear(s); maps.Copy(s, spec) })
		}
	}
	for name, c := range map[string]struct {
		change func(*sendBench)
		last   bool
	}{
		"alone":                                   {func(*sendBench) {}, true},
		"one of all namespaces":                   {with(map[string]any{}), false},
		"one of the same":                         {with(map[string]any{"includedNamespaces": []any{"shop", "crm"}}), false},
		"one without its namespace":               {with(map[string]any{"excludedNamespaces": []any{"shop"}}), true},
		"one of other namespaces":                 {with(map[string]any{"includedNamespaces": []any{"crm"}}), true},
		"one of few resources":                    {with(map[string]any{"includedResources": []any{"pods"}}), true},
		"one without claims":                      {with(map[string]any{"excludedResources": []any{"persistentvolumeclaims"}}), true},
		"one without volumes":                     {with(map[string]any{"snapshotVolumes": false}), true},
		"one of some labels":                      {with(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}), true},
		"one with a policy that may skip volumes": {with(map[string]any{"resourcePolicy": map[string]any{"kind": "configmap", "name": "skip"}}), true},
		"one without cluster resources": {func(b *sendBench) {
			b.source(func(_, s, _ map[string]any) { s["includeClusterResources"] = true })
			with(map[string]any{"includeClusterResources": false})(b)
		}, true},
		"one without volumes in the file system": {func(b *sendBench) {
			b.source(func(_, s, _ map[string]any) { s["defaultVolumesToFsBackup"] = true })
			with(map[string]any{"defaultVolumesToFsBackup": false})(b)
		}, true},
		"one without persistent volumes": {with(map[string]any{"excludedClusterScopedResources": []any{"persistentvolumes"}}), true},
		"the last is partial":            {func(b *sendBench) { b.phase("PartiallyFailed") }, true},
		"it holds nothing":               {func(b *sendBench) { b.phase("Failed") }, false},
		"its deletion began already":     {func(b *sendBench) { b.phase("Deleting") }, false},
	} {
		p := proposed(t, a, c.change)
		if last := strings.HasPrefix(p.Refusal, "it is the LAST "); last != c.last || p.IsPossible() == c.last {
			t.Errorf("%s: %q %v", name, p.Refusal, p.Facts())
		}
	}
}

// Backups of another cluster are replaced by that cluster's alone.
func TestDeleteBackupCopiesOfAnotherCluster(t *testing.T) {
	a := deleteBackupSend(t)
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{AllowOtherCluster: true})
	for generation, last := range map[int64]bool{1: false, 8: true} {
		p := proposed(t, a, func(b *sendBench) {
			b.scheduled()
			b.source(func(m, _, _ map[string]any) { m["generation"] = int64(1) })
			b.copyOf("n-2", func(m, _, _ map[string]any) { m["generation"] = generation })
		})
		if p.IsPossible() == last {
			t.Errorf("generation %d: %q %v", generation, p.Refusal, p.Facts())
		}
	}
}

// A copy that goes between the look and the request stops it: the consent was to another consequence.
func TestDeleteBackupLosesItsCopy(t *testing.T) {
	a := deleteBackupSend(t)
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{})
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(a)
		b.scheduled()
		b.copyOf("n-2", nil)
		engine, p := b.planned(t, dir)
		b.deletionRequest("n-2", "New")
		outcome, err := engine.ApplyPlan(t.Context(), p, false, nil)
		if outcome.State != StateChanged || outcome.Sent != NotSent || outcome.Plan.IsPossible() {
			t.Errorf("%v %v %q: %v", outcome.State, outcome.Sent, outcome.Message, err)
		}
	})
}

// The same between the dry run and the request: somebody deletes the copy meanwhile.
func TestDeleteBackupLosesItsCopyAfterTheDryRun(t *testing.T) {
	a := deleteBackupSend(t)
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{})
	for name, lose := range map[string]func(b *sendBench){
		"its deletion is requested": func(b *sendBench) { b.deletionRequest("n-2", "New") },
		"it is gone":                func(b *sendBench) { b.api.delete(fakeNamespace + "backups/n-2") },
		"the location is read-only": func(b *sendBench) { b.location("ReadOnly", "Available") },
		"the location is down":      func(b *sendBench) { b.location("ReadWrite", "Unavailable") },
		"it is Deleting": func(b *sendBench) {
			b.api.put(fakeNamespace+"backups/n-2", func(o map[string]any) { o["status"].(map[string]any)["phase"] = "Deleting" })
		},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(a)
			b.scheduled()
			b.copyOf("n-2", nil)
			engine, p := b.planned(t, dir)
			b.api.tamper = func(step string, _ *http.Request, serve func() *http.Response) (*http.Response, error) {
				response := serve()
				if step == "dry run" {
					lose(b)
				}
				return response, nil
			}
			outcome, _ := engine.ApplyPlan(t.Context(), p, false, nil)
			requests := len(b.api.landings(a.path))
			if outcome.State != StateChanged || outcome.Sent != NotSent || requests > 0 {
				t.Errorf("%s: %d requests, %v %v %q", name, requests, outcome.State, outcome.Sent, outcome.Message)
			}
		})
	}
}

// Who asks for it deletes what another cluster may own, and the plan says for whom.
func TestDeleteBackupOfAnotherCluster(t *testing.T) {
	a := deleteBackupSend(t)
	synced := func(b *sendBench) { b.source(func(m, _, _ map[string]any) { m["generation"] = int64(1) }) }
	a.plan = proposing(DeleteBackup, "Backup", "source", Request{AllowOtherCluster: true, AllowLastCopy: true})
	if p := proposed(
		t,
		a,
		synced,
	); !p.IsPossible() ||
		!says(p.Will, "for every cluster that reads that storage location") {
		t.Errorf("%q %q", p.Refusal, p.Will)
	}
	// Nothing else is let pass with it.
	if p := proposed(t, a, func(b *sendBench) { synced(b); b.location("ReadOnly", "Available") }); p.IsPossible() {
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
		if p.IsPossible() || !strings.HasPrefix(p.Refusal, c.want) || p.Advice == "" {
			t.Errorf("%s: %q, %q", name, p.Refusal, p.Advice)
		}
	}
	if p := proposed(
		t,
		deleteRestoreSend,
		func(b *sendBench) { b.api.delete(b.path) },
	); p.Refusal != "there is no restore r in namespace velero" {
		t.Errorf("%q", p.Refusal)
	}
	for want, change := range map[string]func(*sendBench){
		"its backup no longer exists": func(b *sendBench) { b.api.delete(sourcePath) },
		"its files are in storage location default, which is not known to be available": func(b *sendBench) { b.location("ReadWrite", "Unavailable") },
		"no Velero server is running": func(b *sendBench) { b.api.delete("/api/v1/namespaces/velero/pods/velero-0") },
	} {
		p := proposed(t, deleteRestoreSend, change)
		if !p.IsPossible() ||
			!slices.ContainsFunc(p.doubtTexts(), func(d string) bool { return strings.HasPrefix(d, want) }) ||
			!says(p.WillNot, "the objects and their data stay") {
			t.Errorf("%s: %q %q", want, p.Refusal, p.doubtTexts())
		}
	}
}
