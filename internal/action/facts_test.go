package action

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Each fact is told, with whether it holds; what was not looked at is told too.
func TestFacts(t *testing.T) {
	const b, r = job.Backup, job.Restore
	namespaces := func(names ...string) change {
		return func(e *Evidence) { e.NamespacesChecked, e.TerminatingNamespaces = true, names }
	}
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		holds   bool
		want    string
	}{
		{"phase", r, "InProgress", nil, true, "phase InProgress"},
		{"no server", r, "InProgress", []change{down}, true, "no pod was recognised as a running Velero server: CrashLoopBackOff"},
		{"server before", r, "InProgress", []change{alive}, true, "running, since before the job started"},
		{"server after", r, "InProgress", []change{restarted}, true, "running, since after the job started"},
		{"pods hidden", r, "InProgress", []change{hidden}, false, "cannot tell whether a Velero server is running: pods is forbidden"},
		{"restarts", b, "InProgress", []change{alive, func(e *Evidence) { e.Server.Restarts, e.Server.LastTerminationReason = 3, "OOMKilled" }}, true, "the server restarted 3 times and last ended with OOMKilled"},
		{"volumes at rest", b, "InProgress", nil, true, "no volume is still moving"},
		{"volumes move", b, "InProgress", []change{volume(velero.PodVolumeBackup, "InProgress")}, false, "1 volume has not ended"},
		{"a volume has not begun", b, "InProgress", []change{volume(velero.PodVolumeBackup, "New")}, false, "1 volume has not ended"},
		{"volumes hidden", b, "InProgress", []change{func(e *Evidence) { e.VolumesListed, e.VolumesUnchecked = Unknown, "forbidden" }}, false, "cannot tell whether volumes are still moving: forbidden"},
		{"stored", b, "InProgress", []change{stored}, true, "BackupVolumeInfos is stored, newer than the job's start"},
		{"not stored", b, "InProgress", []change{stored, file("Contents", job.Presence{State: job.Absent})}, false, "BackupContents is not stored"},
		{"storage not looked at", b, "InProgress", nil, false, "has not checked whether its results are stored"},
		{"location", b, "InProgress", []change{func(e *Evidence) { e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Available"} }}, true, "storage location s3 is Available"},
		{"location gone", b, "InProgress", []change{func(e *Evidence) {
			e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Unavailable", Message: "403"}
		}}, false, "storage location s3 is Unavailable: 403"},
		{"location hidden", b, "InProgress", []change{func(e *Evidence) { e.Location, e.LocationUnchecked = nil, "forbidden" }}, false, "cannot tell whether the storage location is available: forbidden"},
		{"CRD allows the plan's phase", r, "InProgress", []change{restarted, notStored, func(e *Evidence) { e.AllowedPhases = phaseOrder }}, true, "the CRD allows Failed"},
		{"CRD of today", b, "InProgress", []change{func(e *Evidence) { e.AllowedPhases = append([]string{"New"}, phaseOrder...) }}, true, "the CRD allows all phases that may follow"},
		{"CRD too old", b, "InProgress", []change{func(e *Evidence) { e.AllowedPhases = []string{"InProgress", "Completed", "PartiallyFailed", "Failed"} }}, false, "Finalizing, FinalizingPartiallyFailed: if the server is newer"},
		{"CRD hidden", b, "InProgress", []change{func(e *Evidence) { e.PhasesUnchecked = "forbidden" }}, false, "which phases the CRD allows: forbidden"},
		{"targets", r, "InProgress", []change{namespaces()}, true, "no namespace that it restores into is being deleted"},
		{"a target is deleted", r, "InProgress", []change{namespaces("shop")}, false, "1 namespace that it restores into is being deleted (shop): Velero waits up to 10 minutes"},
		{"targets hidden", r, "InProgress", []change{func(e *Evidence) { e.NamespacesUnchecked = "forbidden" }}, false, "cannot tell whether it restores into a namespace that is being deleted: forbidden"},
	} {
		p := draft(evidence(t, c.kind, c.phase, c.changes...), Request{})
		if !slices.ContainsFunc(p.Facts(), func(f diagnosis.Fact) bool {
			return f.Supports == c.holds && strings.Contains(f.Text, c.want) && f.Source != ""
		}) {
			t.Errorf("%s: nothing says %q (holds %v) in %+v", c.name, c.want, c.holds, p.Facts())
		}
	}
	for _, f := range (&Plan{evidence: evidence(t, b, "InProgress")}).Facts() {
		if f.Source == diagnosis.SourceNamespaces {
			t.Errorf("a backup restores into nothing: %s", f.Text)
		}
	}
}

// A restore whose target is being deleted, seen by one who may list namespaces
// and by one who may not. Without its controller a namespace stays so for ever.
func TestTerminatingNamespaces(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	doomed, spared := "doomed-"+in.namespace, "spared-"+in.namespace
	in.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: spared}},
	)
	if err := in.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}}); err != nil {
		t.Fatal(err)
	}
	in.create(
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "b"},
			Spec:       veleroapi.BackupSpec{IncludedNamespaces: []string{"shop", spared}},
		},
	)
	for name, spec := range map[string]veleroapi.RestoreSpec{
		"into-doomed": {BackupName: "b", NamespaceMapping: map[string]string{"shop": doomed}},
		"into-spared": {BackupName: "b", IncludedNamespaces: []string{spared}},
	} {
		r := &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name},
			Spec:       spec,
			Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress},
		}
		if err := in.Create(t.Context(), r, client.FieldOwner("velero-server")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"into-doomed": doomed, "into-spared": ""} {
		e, err := in.finalizer().GatherEvidence(t.Context(), job.Restore, name)
		if err != nil || !e.NamespacesChecked || strings.Join(e.TerminatingNamespaces, " ") != want {
			t.Errorf("%s: %v, %v, %q", name, err, e.NamespacesChecked, e.TerminatingNamespaces)
		}
	}
	blind := in.user("blind-"+in.namespace, operator...)
	e, err := in.finalizer(func(o *Options) { o.Session = in.session(blind) }).
		GatherEvidence(t.Context(), job.Restore, "into-doomed")
	if err != nil || e.NamespacesChecked || !strings.Contains(e.NamespacesUnchecked, "forbidden") || e.TerminatingNamespaces != nil {
		t.Errorf("%v, %v, %q", err, e.NamespacesChecked, e.NamespacesUnchecked)
	}
}
