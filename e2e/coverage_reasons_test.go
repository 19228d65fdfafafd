//go:build e2e

package e2e

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestCoverageReasons plants reasons for missing coverage of as many kinds as Velero has,
// lets Velero make the backups, and holds veltui to naming each.
func TestCoverageReasons(t *testing.T) {
	needs(
		t,
		!serverVersion(t).Before(rules.Version{1, 18, 0}),
		"resource policies with filters, and backups side by side",
	)
	p := &planter{t: t, ctx: patient(t), wants: map[string]plantedReason{}}
	must(t, theLab.StartSnapshots(p.ctx))
	must(
		t,
		theLab.EnsureVelero(p.ctx, append([]string{"--features=EnableCSI", "--concurrent-backups=8"}, unthrottled...)...),
	)
	t.Cleanup(p.clear)
	p.clear()
	p.namespace("why-lone", nil)
	p.want("why-lone", "Namespace", "why-lone", "NoSchedule", "there is no schedule")
	p.check("why-lone")

	p.grounds()
	p.run(p.schedules())
	p.agent()
	p.evidence()
	p.check()
	p.readings()
}

// grounds makes what the plants stand on.
func (p *planter) grounds() {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: otherNode}}
	p.create(node)
	before := node.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
	}
	must(p.t, theLab.Client.Status().Patch(p.ctx, node, client.MergeFrom(before)))
	p.storage("why-slow", "slow.example.com")
	p.storage("why-other", "other.example.com")
	p.storage("why-two", "two.example.com", "why-two-a", "why-two-b")
	p.storage("why-stuck", "stuck.example.com", "why-stuck")
	p.storage("why-lab", lab.SnapshotDriver)
	for name, text := range policyPlants {
		p.policy(name, text)
	}
	p.location("why-read-only", func(l *veleroapi.BackupStorageLocationSpec) {
		l.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
	})
	p.location("why-away", func(l *veleroapi.BackupStorageLocationSpec) { l.Config["s3Url"] = "http://127.0.0.1:1" })
	for _, s := range schedulePlants {
		n := "why-" + s.name
		p.namespace(n, nil)
		p.claim(n, "data", plantedClaim{})
		p.deployment(n, "web", map[string]string{"app": "web"})
		p.want(n, "PersistentVolumeClaim", "data", s.reason, s.words)
	}
	for n, plants := range volumePlants {
		p.namespace(n, nil)
		for _, v := range plants {
			p.claim(n, v.name, v.plantedClaim)
			p.want(n, "PersistentVolumeClaim", v.name, v.reason, v.words)
		}
	}
	p.objects()
	p.claim("why-late-volume", "late", plantedClaim{class: new("why-lab")})
	p.bound("pending", "late")
	for n, plants := range volumePlants {
		for _, v := range plants {
			if v.node != noPod {
				p.pod(n, v.name, v.node, v.pod)
			}
		}
	}
}

// objects plants what is about single objects.
func (p *planter) objects() {
	const n = "why-volumes"
	p.claim(n, "pending", plantedClaim{class: new("why-missing")})
	p.want(n, "PersistentVolumeClaim", "pending", "NotBound", "its phase is Pending")
	p.claim("why-rules", "pending", plantedClaim{class: new("why-missing")})
	p.want("why-rules", "PersistentVolumeClaim", "pending", "NotBound", "no volume")
	p.deployment(n, "left-out", excluding)
	p.want(n, "Deployment", "left-out", "LabelExcluded", "velero.io/exclude-from-backup")
	p.deployment(n, "taken", nil)
	p.want(n, "Deployment", "taken", "", "")
	deleting := p.claim(
		n,
		"deleting",
		plantedClaim{change: func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { p.hold(c) }},
	)
	p.want(n, "PersistentVolumeClaim", "deleting", "BeingDeleted", "being deleted")
	lost := p.claim(n, "lost", plain(nfsOther))
	p.want(n, "PersistentVolumeClaim", "lost", "NotBound", "Lost")
	must(p.t, theLab.AwaitClaim(p.ctx, deleting))
	must(p.t, theLab.Client.Delete(p.ctx, deleting))
	must(p.t, theLab.AwaitClaim(p.ctx, lost))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: n + "-lost"}}
	must(p.t, theLab.Client.Delete(p.ctx, volume))
	p.await(lost, func() bool { // Kubernetes protects a volume that is claimed
		_ = theLab.Client.Patch(
			p.ctx,
			volume,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)),
		)
		return lost.Status.Phase == corev1.ClaimLost
	})
	p.claims = slices.DeleteFunc(
		p.claims,
		func(c *corev1.PersistentVolumeClaim) bool { return c == deleting || c == lost },
	)

	// A schedule of patterns, which leaves out both; and one that names the second.
	p.namespace("why-labelled", excluding)
	p.want("why-labelled", "Namespace", "why-labelled", "NamespaceLabelled", "velero.io/exclude-from-backup")
	p.namespace("why-labelled-by-name", excluding)
	p.want("why-labelled-by-name", "Namespace", "why-labelled-by-name", "BackupsRefused", "by name")
	p.namespace("why-terminating", nil)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "why-terminating", Name: "held"}}
	p.hold(held)
	p.create(held)
	must(p.t, theLab.Client.Delete(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "why-terminating"}}))
	p.want("why-terminating", "Namespace", "why-terminating", "NamespaceTerminating", "being deleted")
	p.want("why-lone", "Namespace", "why-lone", "NamespaceNotIncluded", "the includedNamespaces of all")
}

// schedules makes the schedules, and returns those of which a backup is to be made, with the phase in which it ends.
func (p *planter) schedules() map[string]veleroapi.BackupPhase {
	phases := map[string]veleroapi.BackupPhase{}
	add := func(name string, phase veleroapi.BackupPhase, namespaces []string, change func(*veleroapi.ScheduleSpec)) {
		s := &veleroapi.Schedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
			Spec: veleroapi.ScheduleSpec{
				Schedule: "0 0 1 1 *",
				Template: veleroapi.BackupSpec{
					IncludedNamespaces: namespaces,
					StorageLocation:    lab.LocationName,
					TTL:                metav1.Duration{Duration: 9000 * time.Hour},
				},
			},
		}
		if change != nil {
			change(&s.Spec)
		}
		p.create(s)
		if phase != "" {
			phases[name] = phase
		}
	}
	for _, s := range schedulePlants {
		add("why-"+s.name, s.phase, []string{"why-" + s.name}, s.change)
	}
	for n := range volumePlants {
		add(n, "", []string{n}, volumeSchedules[n])
	}
	phases["why-restic"], phases["why-rules"] = doneWell, doneWell
	add("why-states", doneWell, []string{"why-labelle?", "why-terminat*"}, nil)
	add("why-labelled-by-name", refused, []string{"why-labelled-by-name"}, nil)
	return phases
}

// run makes backups of schedules as `velero backup create --from-schedule` does, and checks how they end.
func (p *planter) run(phases map[string]veleroapi.BackupPhase) {
	p.t.Helper()
	names := slices.Sorted(maps.Keys(phases))
	for _, name := range names {
		p.backup(name, name, nil)
	}
	for _, name := range names {
		p.ends(name, phases[name])
	}
}

// ends waits until a backup has ended, and checks that Velero saved no data of what is planted in it.
func (p *planter) ends(backup string, phase veleroapi.BackupPhase) {
	p.t.Helper()
	if h := ended(p.t, "Backup", backup); h.LastState().Phase != string(phase) {
		p.t.Errorf("backup %s ended as %s, want %s", backup, h.LastState().Phase, phase)
	}
	if phase != doneWell && phase != donePart {
		return
	}
	for _, claim := range coverageList(p.t, backup).Data {
		want := p.wants[strings.Replace(claim, "/", "/PersistentVolumeClaim/", 1)]
		if want.reason != "" && want.reason != "NotRead" && want.reason != "ExpiresFirst" {
			p.t.Errorf("backup %s has the data of claim %s, planted as %s", backup, claim, want.reason)
		}
	}
}

func (p *planter) backup(name, schedule string, change func(*veleroapi.BackupSpec)) {
	p.t.Helper()
	s := &veleroapi.Schedule{}
	must(p.t, theLab.Client.Get(p.ctx, client.ObjectKey{Namespace: lab.Namespace, Name: schedule}, s))
	spec := s.Spec.Template
	if change != nil {
		change(&spec)
	}
	p.create(
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: lab.Namespace,
				Name:      name,
				Labels:    map[string]string{veleroapi.ScheduleNameLabel: schedule},
			},
			Spec: spec,
		},
	)
}

// agent runs what needs a node-agent: it is told to cancel the volume of a pod and a data upload.
func (p *planter) agent() {
	p.t.Helper()
	p.check("why-unmoved")
	must(p.t, theLab.StartNodeAgent(p.ctx, oneAtATime))
	p.t.Cleanup(func() { must(p.t, theLab.RemoveNodeAgent(context.Background())) })
	p.want("why-unmoved", "PersistentVolumeClaim", "data", "VolumeFailed", "Canceled")
	cancel := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"cancel":true}}`))
	p.backup("why-moved", "why-unmoved", nil)
	awaitUploads(p.t, "why-moved", "Accepted")
	p.backup("why-copies", "why-copies", nil)
	p.backup("why-volumes", "why-volumes", nil)
	var volumes veleroapi.PodVolumeBackupList // it waits behind the data upload
	for len(volumes.Items) == 0 {
		must(
			p.t,
			theLab.Client.List(
				p.ctx,
				&volumes,
				client.InNamespace(lab.Namespace),
				client.MatchingLabels{veleroapi.BackupNameLabel: "why-volumes"},
			),
		)
		time.Sleep(50 * time.Millisecond)
	}
	must(p.t, theLab.Client.Patch(p.ctx, &volumes.Items[0], cancel))
	runMover(p.t, in(p.t, "why-moved", "Accepted"))
	awaitUploads(p.t, "why-moved", "InProgress")
	upload := in(p.t, "why-moved", "InProgress")
	must(p.t, theLab.Client.Patch(p.ctx, &upload, cancel))
	awaitUploads(p.t, "why-moved", "Canceling")
	says(p.t, upload, "Data-Path-Started", "")
	says(p.t, upload, "Data-Path-Stopped", "")
	must(p.t, theLab.EndPod(p.ctx, lab.Namespace, upload.Name, 1, "data path is canceled"))
	for _, b := range []string{"why-volumes", "why-copies", "why-moved"} {
		p.ends(b, donePart)
	}
}

// evidence makes what only stored backups tell.
func (p *planter) evidence() {
	p.t.Helper()
	const claim = "PersistentVolumeClaim"
	merge := func(o client.Object, patch string) {
		p.t.Helper()
		must(p.t, theLab.Client.Patch(p.ctx, o, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	named := metav1.ObjectMeta{Namespace: lab.Namespace}
	schedule := func(name string) *veleroapi.Schedule {
		named.Name = name
		return &veleroapi.Schedule{ObjectMeta: named}
	}
	must(p.t, os.Remove(theLab.ObjectPath("backups/why-unread/why-unread-resource-list.json.gz")))
	merge(schedule("why-widened"), `{"spec":{"template":{"labelSelector":null}}}`)
	named.Name = "why-skipped"
	merge(&corev1.ConfigMap{ObjectMeta: named}, `{"data":{"policy":"version: v1\n"}}`)
	p.backup("why-refused-once", "why-refused-once", func(s *veleroapi.BackupSpec) { s.StorageLocation = "why-nowhere" })
	p.ends("why-refused-once", refused)
	must(p.t, theLab.OpenGate(lab.NoSelectorGate))
	p.backup("why-failed", "why-failed", nil)
	p.ends("why-failed", veleroapi.BackupPhaseFailed)
	must(p.t, theLab.CloseGate(lab.NoSelectorGate))

	p.create(
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "why-late"}, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: lab.SnapshotDriver, VolumeHandle: "x"},
			},
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Gi"),
			},
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: "why-lab",
			ClaimRef:         &corev1.ObjectReference{Namespace: "why-late-volume", Name: "late"},
		}},
	)
	late := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "why-late-volume", Name: "late"}}
	must(p.t, theLab.AwaitClaim(p.ctx, late))
	p.want("why-late-volume", claim, "late", "NotYet", "holds it as it was without its volume")
	p.claim("why-added", "added", plantedClaim{})
	p.want("why-added", claim, "added", "NotYet", "schedule why-added takes it")
	p.namespace("why-new-since", nil)
	p.want("why-new-since", "Namespace", "why-new-since", "NotYet", "schedule why-new takes it")
	p.claim("why-never-run", "share", plain(nfsShare))
	p.want("why-never-run", claim, "share", "NotMounted", "no pod mounts it")
	p.bound()

	// A run of Velero's own, whose backup is deleted.
	ran := schedule("why-expired")
	p.await(ran, func() bool { return ran.Status.LastBackup != nil })
	merge(ran, `{"spec":{"schedule":"0 0 1 1 *"}}`)
	var backups veleroapi.BackupList
	must(
		p.t,
		theLab.Client.List(
			p.ctx,
			&backups,
			client.InNamespace(lab.Namespace),
			client.MatchingLabels{veleroapi.ScheduleNameLabel: "why-expired"},
		),
	)
	for i := range backups.Items {
		b := &backups.Items[i]
		wantEnd(p.t, ended(p.t, "Backup", b.Name), string(doneWell))
		p.create(
			&veleroapi.DeleteBackupRequest{
				ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: b.Name},
				Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: b.Name},
			},
		)
		must(p.t, theLab.AwaitDeleted(p.ctx, b))
	}
}
