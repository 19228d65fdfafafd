package coverage

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var errTest = errors.New("it cannot be read")

var no, yes = false, true

// TestReasons plants reasons why the claim shop/data is in no backup: each is named. Without any, the claim is taken.
func TestReasons(t *testing.T) {
	selector := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"backup": value}}
	}
	for name, c := range map[string]struct {
		plant func(*scene)
		want  Reason // empty for none
		words string
	}{
		"nothing":                     {func(*scene) {}, "", ""},
		"paused":                      {func(s *scene) { s.schedule.Spec.Paused = true }, SchedulePaused, "paused"},
		"invalid":                     {func(s *scene) { s.schedule.InvalidReason = "Velero does not accept the schedule" }, ScheduleInvalid, "does not accept"},
		"location refuses":            {func(s *scene) { s.schedule.RefusalReason = "its storage location nas is Unavailable" }, BackupsRefused, "nas"},
		"not included":                {func(s *scene) { s.spec.IncludedNamespaces = []string{"other"} }, NamespaceNotIncluded, "includedNamespaces (other)"},
		"not included by pattern":     {func(s *scene) { s.spec.IncludedNamespaces = []string{"prod-*"} }, NamespaceNotIncluded, "prod-*"},
		"included by pattern":         {func(s *scene) { s.spec.IncludedNamespaces = []string{"sh?p"} }, "", ""},
		"excluded":                    {func(s *scene) { s.spec.ExcludedNamespaces = []string{"shop"} }, NamespaceExcluded, "excludedNamespaces (shop)"},
		"excluded by pattern":         {func(s *scene) { s.spec.ExcludedNamespaces = []string{"s*"} }, NamespaceExcluded, "s*"},
		"namespace label":             {func(s *scene) { s.ns.Labels[veleroapi.ExcludeFromBackupLabel] = "true" }, NamespaceLabelled, "velero.io/exclude-from-backup"},
		"namespace label is not true": {func(s *scene) { s.ns.Labels[veleroapi.ExcludeFromBackupLabel] = "yes" }, "", ""},
		"included by name, excluded by label": {func(s *scene) {
			s.spec.IncludedNamespaces = []string{"shop"}
			s.ns.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
		}, BackupsRefused, "by name"},
		"contradicting namespaces": {func(s *scene) {
			s.spec.IncludedNamespaces, s.spec.ExcludedNamespaces = []string{"shop"}, []string{"shop"}
		}, BackupsRefused, "namespaces"},
		"everything excluded":       {func(s *scene) { s.spec.ExcludedNamespaces = []string{"*"} }, BackupsRefused, ""},
		"bad pattern":               {func(s *scene) { s.spec.IncludedNamespaces = []string{"shop", "a**"} }, BackupsRefused, "pattern"},
		"snapshot location is gone": {func(s *scene) { s.spec.VolumeSnapshotLocations = []string{"gone"} }, BackupsRefused, "volume snapshot location gone"},
		"not included and refused":  {func(s *scene) { s.spec.IncludedNamespaces = []string{"a**"} }, NamespaceNotIncluded, "a**"},
		"not included and paused": {func(s *scene) {
			s.spec.IncludedNamespaces, s.schedule.Spec.Paused = []string{"other"}, true
		}, NamespaceNotIncluded, "other"},
		"kind excluded":               {func(s *scene) { s.spec.ExcludedResources = []string{"pvc"} }, KindExcluded, "persistentvolumeclaims"},
		"kind not included":           {func(s *scene) { s.spec.IncludedResources = []string{"deploy", "configmaps"} }, KindExcluded, ""},
		"kind excluded by scope":      {func(s *scene) { s.spec.ExcludedNamespaceScopedResources = []string{"persistentvolumeclaims"} }, KindExcluded, ""},
		"kind not included by scope":  {func(s *scene) { s.spec.IncludedNamespaceScopedResources = []string{"deployments.apps"} }, KindExcluded, ""},
		"all kinds excluded by scope": {func(s *scene) { s.spec.ExcludedNamespaceScopedResources = []string{"*"} }, KindExcluded, ""},
		"mixed filters": {func(s *scene) {
			s.spec.IncludedResources, s.spec.ExcludedClusterScopedResources = []string{"*"}, []string{"nodes"}
		}, BackupsRefused, "mixes"},
		"both selectors": {func(s *scene) {
			s.spec.LabelSelector, s.spec.OrLabelSelectors = selector("a"), []*metav1.LabelSelector{selector("b")}
		}, BackupsRefused, "orLabelSelectors"},
		"selector":                 {func(s *scene) { s.spec.LabelSelector = selector("yes") }, SelectorMismatch, "backup=yes"},
		"or selectors":             {func(s *scene) { s.spec.OrLabelSelectors = []*metav1.LabelSelector{selector("a"), selector("b")} }, SelectorMismatch, "backup=a or backup=b"},
		"empty selector":           {func(s *scene) { s.spec.LabelSelector = &metav1.LabelSelector{} }, SelectorMismatch, "empty"},
		"selector selects the pod": {func(s *scene) { s.spec.LabelSelector = selector("yes"); s.pod.Labels["backup"] = "yes" }, "", ""},
		"label":                    {func(s *scene) { s.claim.Labels[veleroapi.ExcludeFromBackupLabel] = "true" }, LabelExcluded, "velero.io/exclude-from-backup"},
		"label beats pod": {func(s *scene) {
			s.spec.LabelSelector = selector("yes")
			s.pod.Labels["backup"] = "yes"
			s.claim.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
		}, LabelExcluded, ""},
		"being deleted": {func(s *scene) { at := metav1.NewTime(now); s.claim.DeletionTimestamp = &at }, BeingDeleted, ""},
		"policy skips class": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {storageClass: [slow, fast]}\n\taction: {type: skip}")
		}, PolicySkips, "volume policy 1 of ConfigMap rules"},
		"policy of another class": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {storageClass: [slow]}\n\taction: {type: skip}")
		}, "", ""},
		"policy skips capacity": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {capacity: \"5Gi,20Gi\"}\n\taction: {type: skip}")
		}, PolicySkips, ""},
		"policy of larger capacity": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {capacity: \"20Gi,\"}\n\taction: {type: skip}")
		}, "", ""},
		"policy skips driver": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {csi: {driver: csi.example.com}}\n\taction: {type: skip}")
		}, PolicySkips, ""},
		"policy skips nfs": {func(s *scene) {
			s.source(nfsSource())
			s.policy("volumePolicies:\n- conditions: {nfs: {server: 10.0.0.1}}\n\taction: {type: skip}")
		}, PolicySkips, ""},
		"policy skips type": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {volumeTypes: [nfs, csi]}\n\taction: {type: skip}")
		}, PolicySkips, ""},
		"policy skips labels": {func(s *scene) {
			s.claim.Labels["tier"] = "cache"
			s.policy("volumePolicies:\n- conditions: {pvcLabels: {tier: cache}}\n\taction: {type: skip}")
		}, PolicySkips, ""},
		"policy skips phase": {func(s *scene) { s.policy("volumePolicies:\n- conditions: {pvcPhase: [Bound]}\n\taction: {type: skip}") }, PolicySkips, ""},
		"first policy wins": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {csi: {}}\n\taction: {type: snapshot}\n- conditions: {}\n\taction: {type: skip}")
		}, "", ""},
		"policy leaves it to a plugin": {func(s *scene) { s.policy("volumePolicies:\n- conditions: {}\n\taction: {type: custom}") }, PolicyCustom, "plugin"},
		"policy copies, pod down": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {}\n\taction: {type: fs-backup}")
			s.pod.Status.Phase = corev1.PodPending
		}, PodNotRunning, "db"},
		"policy copies, unmounted": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {}\n\taction: {type: fs-backup}")
			delete(s.cluster.Objects[Pods], "shop/db")
		}, NotMounted, ""},
		"server's policy": {func(s *scene) {
			s.cluster.Server.Flags.GlobalVolumePolicies = "all"
			s.cluster.Policies["all"] = ParsePolicy("all", map[string]string{"x": "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: skip}"})
		}, PolicySkips, "ConfigMap all"},
		"policy has a bad version": {func(s *scene) {
			s.spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "rules"}
			s.cluster.Policies["rules"] = ParsePolicy("rules", map[string]string{"x": "version: v2"})
		}, BackupsRefused, "v2"},
		"policy has an unknown key": {func(s *scene) { s.policy("volumePolicy: []") }, BackupsRefused, "rules"},
		"policy names a namespace twice": {func(s *scene) {
			s.policy("namespacedFilterPolicies:\n- {namespaces: [a], resourceFilters: [{kinds: [pods]}]}\n- {namespaces: [a], resourceFilters: [{}]}")
		}, BackupsRefused, "twice"},
		"policy filters nothing": {func(s *scene) { s.policy("namespacedFilterPolicies: [{namespaces: [a]}]") }, BackupsRefused, "no filter"},
		"policy has two filters of all kinds": {func(s *scene) {
			s.policy("namespacedFilterPolicies: [{namespaces: [a], resourceFilters: [{}, {kinds: [\"*\"]}]}]")
		}, BackupsRefused, "all kinds"},
		"policy filters all kinds of the cluster": {func(s *scene) { s.policy("clusterScopedFilterPolicy: {resourceFilters: [{}]}") }, BackupsRefused, "all kinds"},
		"policy has two filters of a kind": {func(s *scene) {
			s.policy("clusterScopedFilterPolicy: {resourceFilters: [{kinds: [nodes]}, {kinds: [nodes]}]}")
		}, BackupsRefused, "two filters name nodes"},
		"policy does not exist": {func(s *scene) { s.policy(""); s.cluster.Policies["rules"] = ParsePolicy("rules", nil) }, BackupsRefused, "rules"},
		"policy cannot be read": {func(s *scene) { s.policy(""); delete(s.cluster.Policies, "rules") }, NotSeen, "rules"},
		"policy excludes the kind": {func(s *scene) {
			s.policy("includeExcludePolicy: {excludedNamespaceScopedResources: [persistentvolumeclaims]}")
		}, KindExcluded, ""},
		"policy includes other kinds": {func(s *scene) { s.policy("includeExcludePolicy: {includedNamespaceScopedResources: [configmaps]}") }, KindExcluded, ""},
		"policy filters the kind, pod brings it": {func(s *scene) {
			s.policy("namespacedFilterPolicies:\n- namespaces: [shop]\n\tresourceFilters:\n\t- kinds: [pods]")
		}, "", ""},
		"policy filters the kind": {func(s *scene) {
			s.policy("namespacedFilterPolicies:\n- namespaces: [\"sh*\"]\n\tresourceFilters:\n\t- kinds: [configmaps]")
		}, PolicyFilter, "namespacedFilterPolicies"},
		"policy filters the name": {func(s *scene) {
			s.policy("namespacedFilterPolicies:\n- namespaces: [shop]\n\tresourceFilters:\n\t- kinds: [pvc]\n\t\texcludedNames: [\"da*\"]")
		}, PolicyFilter, "name"},
		"snapshots off": {func(s *scene) { s.spec.SnapshotVolumes = &no }, SnapshotsOff, "snapshotVolumes"},
		"snapshots off, opted in": {func(s *scene) {
			s.spec.SnapshotVolumes = &no
			s.pod.Annotations[veleroapi.VolumesToBackupAnnotation] = "other,vol"
		}, "", ""},
		"not opted in": {func(s *scene) { s.source(nfsSource()) }, NotOptedIn, veleroapi.VolumesToBackupAnnotation},
		"opted out": {func(s *scene) {
			s.source(nfsSource())
			s.spec.DefaultVolumesToFsBackup = &yes
			s.pod.Annotations[veleroapi.VolumesToExcludeAnnotation] = "vol"
		}, OptedOut, veleroapi.VolumesToExcludeAnnotation},
		"opted out, CSI is off": {func(s *scene) {
			s.cluster.Server.Flags.Features, s.spec.DefaultVolumesToFsBackup = nil, &yes
			s.pod.Annotations[veleroapi.VolumesToExcludeAnnotation] = "vol"
		}, OptedOut, "EnableCSI"},
		"opted out, snapshot": {func(s *scene) {
			s.spec.DefaultVolumesToFsBackup = &yes
			s.pod.Annotations[veleroapi.VolumesToExcludeAnnotation] = "vol"
		}, "", ""},
		"server copies by default": {func(s *scene) { s.source(nfsSource()); s.cluster.Server.Flags.DefaultVolumesToFSBackup = true }, "", ""},
		"unmounted": {func(s *scene) {
			s.source(nfsSource())
			s.spec.DefaultVolumesToFsBackup = &yes
			delete(s.cluster.Objects[Pods], "shop/db")
		}, NotMounted, "no pod mounts it"},
		"no container mounts it": {func(s *scene) { s.spec.DefaultVolumesToFsBackup = &yes; s.pod.Spec.Containers[0].VolumeMounts = nil }, NotMounted, "no container"},
		"pod left out": {func(s *scene) {
			s.spec.DefaultVolumesToFsBackup = &yes
			s.pod.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
		}, PodNotTaken, "db"},
		"pod kind left out":         {func(s *scene) { s.spec.DefaultVolumesToFsBackup = &yes; s.spec.ExcludedResources = []string{"po"} }, PodNotTaken, "pods"},
		"pod does not run":          {func(s *scene) { s.spec.DefaultVolumesToFsBackup = &yes; s.pod.Status.Phase = corev1.PodSucceeded }, PodNotRunning, ""},
		"no node-agent on the node": {func(s *scene) { s.spec.DefaultVolumesToFsBackup = &yes; s.pod.Spec.NodeName = "n2" }, NoNodeAgent, "n2"},
		"hostPath": {func(s *scene) {
			s.source(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}})
		}, HostPath, "hostPath"},
		"hostPath copied": {func(s *scene) {
			s.spec.DefaultVolumesToFsBackup = &yes
			s.source(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}})
		}, HostPath, ""},
		"block volume": {func(s *scene) {
			s.spec.DefaultVolumesToFsBackup = &yes
			s.pod.Spec.Containers[0] = corev1.Container{VolumeDevices: []corev1.VolumeDevice{{Name: "vol"}}}
		}, BlockVolume, ""},
		"CSI is off":            {func(s *scene) { s.cluster.Server.Flags.Features = nil }, CSIOff, "EnableCSI"},
		"server is not seen":    {func(s *scene) { s.cluster.Server.Visible = false; s.spec.DefaultVolumesToFsBackup = &no }, ServerUnknown, ""},
		"default is not known":  {func(s *scene) { s.cluster.Server.Visible = false }, ServerUnknown, "defaultVolumesToFsBackup"},
		"no storage class":      {func(s *scene) { s.claim.Spec.StorageClassName = nil }, NoStorageClass, ""},
		"storage class is gone": {func(s *scene) { delete(s.cluster.Provisioners, "fast") }, NoStorageClass, "fast"},
		"no snapshot class":     {func(s *scene) { s.cluster.SnapshotClasses[0].Driver = "other" }, NoSnapshotClass, "csi.example.com"},
		"two snapshot classes": {func(s *scene) {
			s.cluster.SnapshotClasses = append(s.cluster.SnapshotClasses, SnapshotClass{"b", "csi.example.com", false})
		}, NoSnapshotClass, ""},
		"two snapshot classes, one marked": {func(s *scene) {
			s.cluster.SnapshotClasses = append(s.cluster.SnapshotClasses, SnapshotClass{"b", "csi.example.com", true})
		}, "", ""},
		"claim names its class": {func(s *scene) {
			s.cluster.SnapshotClasses = append(s.cluster.SnapshotClasses, SnapshotClass{"b", "csi.example.com", false})
			s.claim.Annotations[veleroapi.VolumeSnapshotClassDriverPVCAnnotation] = "b"
		}, "", ""},
		"nobody moves":   {func(s *scene) { s.spec.SnapshotMoveData = &yes; delete(s.cluster.Objects[Pods], "velero/agent") }, NoNodeAgent, "moved"},
		"plugin decides": {func(s *scene) { s.source(nfsSource()); s.cluster.VolumeSnapshotLocations = []string{"default"} }, PluginDecides, ""},
		"volume left out": {func(s *scene) {
			s.source(nfsSource())
			s.cluster.VolumeSnapshotLocations = []string{"default"}
			s.spec.IncludeClusterResources = &no
		}, NotOptedIn, "PersistentVolume"},
		"volume has the label": {func(s *scene) {
			s.source(nfsSource())
			s.cluster.VolumeSnapshotLocations = []string{"default"}
			s.volume.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
		}, LabelExcluded, "its PersistentVolume"},
		"volume is missing": {func(s *scene) { delete(s.cluster.Volumes, "pv-data") }, VolumeMissing, "pv-data"},
		"volumes are not seen": {func(s *scene) {
			delete(s.cluster.Volumes, "pv-data")
			s.cluster.Unchecked[Volumes] = "you may not list it"
		}, NotSeen, "you may not"},
		"snapshot classes are not seen": {func(s *scene) { s.cluster.Unchecked[SnapshotClasses] = "you may not list it" }, NotSeen, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			c.plant(s)
			p := newBackupPlan(newClusterIndex(s.cluster), s.schedule)
			v := p.judgeClaim(s.claim)
			if v.Reason != c.want || (v.Answer == Yes) != (c.want == "") || !strings.Contains(v.ReasonText, c.words) {
				t.Fatalf("%+v, want %q", v, c.want)
			}
			if c.want == "" {
				return
			}
			_, got := s.judge(t) // there is no backup
			if got.State != Unprotected || got.Reason != c.want || !strings.Contains(got.Sentence, c.words) {
				t.Errorf("judged %+v", got)
			}
		})
	}
}

// TestEvidence holds what backups say to what is made of it.
func TestEvidence(t *testing.T) {
	const day = 24 * time.Hour
	done := veleroapi.BackupPhaseCompleted
	fails := func(v *artifact.VolumeInfo) { v.Result, v.Phase = "failed", "Failed" }
	skips := func(v *artifact.VolumeInfo) { v.Skipped, v.SkippedReason, v.Result = true, "podvolume: opted out;", "" }
	for name, c := range map[string]struct {
		plant   func(*scene)
		state   State
		reason  Reason
		copy    string
		expires time.Duration
	}{
		"good":              {func(s *scene) { s.backup("b", time.Hour, day, done, listing(entry(nil))) }, Covered, "", "b", day},
		"two intervals old": {func(s *scene) { s.backup("b", 3*time.Hour, day, done, listing(entry(nil))) }, CoveredWithWarning, TooOld, "b", day},
		"older than asked":  {func(s *scene) { s.o.MaxAge = time.Minute; s.backup("b", time.Hour, day, done, listing(entry(nil))) }, CoveredWithWarning, TooOld, "b", day},
		"partially failed": {func(s *scene) {
			s.backup("b", time.Hour, day, veleroapi.BackupPhasePartiallyFailed, listing(entry(nil)))
		}, Covered, "", "b", day},
		"longest expiry": {func(s *scene) {
			s.backup("b", time.Hour, day, done, listing(entry(nil)))
			s.backup("a", 5*day, 9*day, done, listing(entry(nil)))
		}, Covered, "", "b", 9 * day},
		"completed, no data": {func(s *scene) { s.backup("b", time.Hour, day, done, listing()) }, Unprotected, NoData, "", 0},
		"newest failed": {func(s *scene) {
			s.backup("b", time.Hour, day, done, listing(entry(fails)))
			s.backup("a", 2*time.Hour, day, done, listing(entry(nil)))
		}, CoveredWithWarning, VolumeFailed, "a", day},
		"all failed": {func(s *scene) { s.backup("b", time.Hour, day, done, listing(entry(fails))) }, Unprotected, VolumeFailed, "", 0},
		"skipped":    {func(s *scene) { s.backup("b", time.Hour, day, done, listing(entry(skips))) }, Unprotected, VolumeSkipped, "", 0},
		"left to a plugin": {func(s *scene) {
			s.policy("volumePolicies:\n- conditions: {}\n\taction: {type: custom}")
			s.backup("b", time.Hour, day, done, listing(entry(skips)))
		}, Unprotected, PolicyCustom, "", 0},
		"saved and skipped": {func(s *scene) { s.backup("b", time.Hour, day, done, listing(entry(skips), entry(nil))) }, Covered, "", "b", day},
		"another volume": {func(s *scene) {
			s.backup("b", time.Hour, day, done, listing(entry(func(v *artifact.VolumeInfo) { v.PersistentVolume = "pv-old" })))
		}, Unprotected, Recreated, "", 0},
		"snapshot timed out": {func(s *scene) {
			r := listing()
			r.AddErrors([]string{` name: /data message: /Error backing up item error: /error executing custom action (groupResource=persistentvolumeclaims, namespace=shop, name=data): rpc error: code = Unknown desc = failed to get volumesnapshot shop/velero-data-4f5zm: client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline`})
			s.backup("b", time.Hour, day, veleroapi.BackupPhasePartiallyFailed, r)
		}, Unprotected, VolumeFailed, "", 0},
		"a pod failed with it": {func(s *scene) {
			r := listing(entry(nil))
			r.AddErrors([]string{` name: /db message: /Error backing up item error: /error executing custom action (groupResource=pods, namespace=shop, name=db): no (reason)`})
			s.backup("b", time.Hour, day, veleroapi.BackupPhasePartiallyFailed, r)
		}, Covered, "", "b", day},
		"location is gone": {func(s *scene) {
			s.backup("b", time.Minute, day, done, listing(entry(nil))).Spec.StorageLocation = "nas"
		}, Unprotected, LocationGone, "", 0},
		"newest is in a location that is gone": {func(s *scene) {
			s.backup("b", time.Minute, day, done, listing(entry(nil))).Spec.StorageLocation = "nas"
			s.backup("a", 3*time.Hour, day, done, listing(entry(nil))).Spec.StorageLocation = "default"
		}, CoveredWithWarning, LocationGone, "a", day},
		"its location is not available": {func(s *scene) {
			s.o.CopyRules.LocationPhases["nas"] = "Unavailable"
			s.backup("b", time.Minute, day, done, listing(entry(nil))).Spec.StorageLocation = "nas"
		}, Undecided, LocationUnavailable, "", 0},
		"expired": {func(s *scene) { s.backup("b", time.Minute, -time.Second, done, listing(entry(nil))) }, Unprotected, BackupExpired, "", 0},
		"its deletion is requested": {func(s *scene) {
			s.backup("b", time.Minute, day, done, listing(entry(nil)))
			s.o.CopyRules.DeletionRequests = velero.GroupRequestsByBackup([]*veleroapi.DeleteBackupRequest{{Spec: veleroapi.DeleteBackupRequestSpec{BackupName: "b"}}})
		}, Unprotected, BackupDeleted, "", 0},
		"its deletion failed, and an older one is kept": {func(s *scene) {
			s.backup("b", time.Minute, day, done, listing(entry(nil)))
			s.backup("a", 30*time.Minute, day, done, listing(entry(nil)))
			s.o.CopyRules.DeletionRequests = velero.GroupRequestsByBackup([]*veleroapi.DeleteBackupRequest{{Spec: veleroapi.DeleteBackupRequestSpec{BackupName: "b"},
				Status: veleroapi.DeleteBackupRequestStatus{Phase: "Processed", Errors: []string{"no"}}}})
		}, Covered, "", "a", day},
		"another cluster made it": {func(s *scene) { s.backup("b", time.Minute, day, done, listing(entry(nil))).Generation = 1 }, Covered, "", "b", day},
		"being deleted": {func(s *scene) {
			at := metav1.NewTime(now)
			s.backup("b", time.Minute, day, done, listing(entry(nil))).DeletionTimestamp = &at
		}, Unprotected, BackupDeleted, "", 0},
		"phase Deleting": {func(s *scene) {
			s.backup("b", time.Minute, day, veleroapi.BackupPhaseDeleting, listing(entry(nil)))
		}, Unprotected, BackupDeleted, "", 0},
		"expires before the next run": {func(s *scene) {
			s.schedule.NextRun = now.Add(2 * day)
			s.schedule.RunAfter = func(t time.Time) time.Time { return t.Add(7 * day) }
			s.backup("b", 5*day, day, done, listing(entry(nil)))
		}, CoveredWithWarning, ExpiresFirst, "b", day},
		"expired, and the run is late": {func(s *scene) {
			s.schedule.NextRun = now.Add(-2 * time.Minute)
			s.backup("b", time.Hour, -time.Minute, done, listing(entry(nil)))
		}, Unprotected, BackupExpired, "", 0},
		"all have expired": {func(s *scene) {
			s.schedule.NextRun, s.schedule.LastEndedRunStart = now.Add(2*day), now.Add(-5*day)
			s.spec.TTL.Duration = 3 * day
		}, Unprotected, ExpiresFirst, "", 0},
		"on Sunday, of a schedule for weekdays": {func(s *scene) {
			s.schedule.NextRun = now.Add(18 * time.Hour)
			s.schedule.RunAfter = func(t time.Time) time.Time {
				if t.Before(now) {
					return s.schedule.NextRun
				}
				return t.Add(day)
			}
			s.backup("b", 54*time.Hour, 9*day, done, listing(entry(nil)))
		}, Covered, "", "b", 9 * day},
		"read in part": {func(s *scene) {
			s.cluster.PartlyRead = map[string]string{Claims + " shop/data": "spec.x is 7"}
			s.backup("b", time.Hour, day, done, listing(entry(nil)))
		}, Undecided, NotSeen, "b", day},
		"volume read in part": {func(s *scene) {
			s.cluster.PartlyRead = map[string]string{Volumes + " pv-data": "spec.x is 7"}
		}, Undecided, NotSeen, "", 0},
		"backup failed": {func(s *scene) { s.backup("b", time.Hour, day, veleroapi.BackupPhaseFailed, nil) }, Unprotected, BackupFailed, "", 0},
		"refused backup": {func(s *scene) {
			s.backup("c", time.Hour, day, veleroapi.BackupPhaseFailedValidation, nil)
			s.backup("b", 3*time.Hour, day, done, listing(entry(nil)))
		}, CoveredWithWarning, BackupFailed, "b", day},
		"new since a failure": {func(s *scene) {
			s.claim.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
			s.backup("b", time.Hour, day, veleroapi.BackupPhaseFailed, nil)
		}, CoveredWithWarning, NotYet, "", 0},
		"volume since": {func(s *scene) {
			s.volume.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
			r := listing()
			r.Items[Volumes] = nil
			s.backup("b", time.Hour, day, done, r)
		}, CoveredWithWarning, NotYet, "", 0},
		"running":  {func(s *scene) { s.backup("b", time.Hour, day, veleroapi.BackupPhaseInProgress, listing(entry(nil))) }, Unprotected, NotInBackup, "", 0},
		"not read": {func(s *scene) { s.backup("b", time.Hour, day, done, nil) }, Undecided, NotRead, "", 0},
		"not read, older copy": {func(s *scene) {
			s.backup("c", time.Hour, day, done, nil)
			s.backup("b", 5*time.Hour, day, done, listing(entry(nil)))
		}, Undecided, NotRead, "b", day},
		"not needed": {func(s *scene) {
			s.backup("c", time.Hour, day, done, listing(entry(nil)))
			s.backup("b", 5*time.Hour, day, done, nil)
		}, Covered, "", "c", day},
		"other namespaces": {func(s *scene) { s.backup("b", time.Hour, day, done, nil).Spec.IncludedNamespaces = []string{"x*"} }, Unprotected, NotInBackup, "", 0},
		"no record":        {func(s *scene) { r := listing(); r.NoVolumes = true; s.backup("b", time.Hour, day, done, r) }, Undecided, OldVolumeRecord, "", 0},
		"volume left out":  {func(s *scene) { r := listing(); r.Items[Volumes] = nil; s.backup("b", time.Hour, day, done, r) }, Undecided, OldVolumeRecord, "", 0},
		"unsaid": {func(s *scene) {
			s.backup("b", time.Hour, day, done, listing(entry(func(v *artifact.VolumeInfo) { v.Result = "" })))
		}, Undecided, OldVolumeRecord, "", 0},
		"nothing takes it": {func(s *scene) {
			s.schedule.Spec.Paused = true
			s.backup("b", time.Hour, 2*day, done, listing(entry(nil)))
		}, CoveredWithWarning, SchedulePaused, "b", 2 * day},
		"label since": {func(s *scene) {
			s.claim.Labels[veleroapi.ExcludeFromBackupLabel] = "true"
			s.backup("b", time.Hour, day, done, listing(entry(nil)))
		}, CoveredWithWarning, LabelExcluded, "b", day},
		"new":     {func(s *scene) { s.claim.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute)) }, CoveredWithWarning, NotYet, "", 0},
		"pending": {func(s *scene) { s.claim.Status.Phase, s.claim.Spec.VolumeName = corev1.ClaimPending, "" }, CoveredWithWarning, NotBound, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			c.plant(s)
			_, got := s.judge(t)
			var expires time.Time
			if c.expires != 0 {
				expires = now.Add(c.expires)
			}
			if got.State != c.state || got.Reason != c.reason || got.Backup != c.copy || !got.ExpiresAt.Equal(expires) ||
				(got.State != Covered) != (got.Sentence != "") {
				t.Errorf("%+v, want %s %s", got, c.state, c.reason)
			}
		})
	}
}

// TestNoSchedule: without any, that is the reason; where schedules are not seen, it is not.
func TestNoSchedule(t *testing.T) {
	for want, unseen := range map[Reason]map[string]string{NoSchedule: {}, NotSeen: {Schedules: "you may not list it"}} {
		s := newScene()
		s.cluster.Unchecked = unseen
		j := NewJudge(s.cluster, nil, nil, s.o)
		if got := j.JudgeAll().Namespaces[0]; got.State != Unprotected || got.Reason != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

// TestFromBackupsAlone: who may list neither namespaces nor claims sees what backups hold, and what is not known.
func TestFromBackupsAlone(t *testing.T) {
	s := newScene()
	s.cluster.Objects = nil
	s.cluster.Unchecked = map[string]string{Namespaces: "you may not list it", Claims: "you may not list it"}
	b := s.backup("b", time.Hour, time.Hour, veleroapi.BackupPhaseCompleted, listing(entry(nil)))
	j := NewJudge(s.cluster, []*Schedule{s.schedule}, s.backups, s.o)
	if !j.NeedsBackup(b) {
		t.Fatal("the backup is not needed")
	}
	j.AddBackup(b, s.records["b"])
	r := j.JudgeAll()
	if len(r.Namespaces) != 1 || len(r.Namespaces[0].Claims) != 1 || r.Namespaces[0].Claims[0].State != Covered ||
		r.State != Undecided ||
		len(r.Unchecked) != 2 {
		t.Errorf("%+v", r)
	}
}

// TestNamespaces: the worst of what is in a namespace is its state, and what shares the reason is counted.
func TestNamespaces(t *testing.T) {
	s := newScene()
	s.spec.IncludedNamespaces = []string{"other"}
	r, _ := s.judge(t)
	if n := r.Namespaces[0]; n.Name != "shop" || n.Reason != NamespaceNotIncluded || n.State != Unprotected ||
		!strings.HasPrefix(n.Sentence, "claim data and 1 more: ") {
		t.Errorf("%+v", n)
	}
	s = newScene()
	s.spec.SnapshotVolumes = &no
	s.backup("b", 3*time.Hour, time.Hour, veleroapi.BackupPhaseCompleted, listing())
	r, _ = s.judge(t)
	if n := r.Namespaces[0]; n.Reason != SnapshotsOff || !strings.HasPrefix(n.Sentence, "claim data: ") ||
		n.Workloads[0].Name != "web" ||
		n.Workloads[0].State != CoveredWithWarning ||
		n.Backup != "b" ||
		r.State != Unprotected {
		t.Errorf("%+v", n)
	}
}

// TestItemFailed: an item that Velero lists and failed to store is in no backup, and neither is the pod that it failed.
func TestItemFailed(t *testing.T) {
	s := newScene()
	s.pod.OwnerReferences = nil
	r := listing(entry(nil))
	r.Items[Pods] = []string{"shop/db"}
	r.AddErrors([]string{
		` name: /web message: /Error backing up item error: /error executing custom action (groupResource=deployments.apps, namespace=shop, name=web): rpc error: code = Unknown desc = the plugin (x) is gone`,
		` name: /db message: /Error backing up item error: /error executing custom action (groupResource=persistentvolumeclaims, namespace=shop, name=data): CSI got timed out with error: no quota`,
		` message: /Error listing items error: /timeout`,
	})
	s.backup("b", time.Hour, time.Hour, veleroapi.BackupPhasePartiallyFailed, r)
	result, claim := s.judge(t)
	if claim.Reason != VolumeFailed ||
		!strings.Contains(claim.Sentence, "in b, saving it failed: CSI got timed out with error: no quota.") {
		t.Errorf("%+v", claim)
	}
	for _, w := range result.Namespaces[0].Workloads {
		want := map[string]string{"web": "In no backup: in b, saving it failed: the plugin (x) is gone.", "db": "In no backup: in b, saving it failed: its claim data failed."}[w.Name]
		if w.Reason != ItemFailed || w.Sentence != want {
			t.Errorf("%+v, want %q", w, want)
		}
	}
}

// TestNewSaysLess: what is merely new does not hide what is older than it may be.
func TestNewSaysLess(t *testing.T) {
	s := newScene()
	pending := &corev1.PersistentVolumeClaim{ObjectMeta: meta("shop", "a-pending")}
	s.cluster.AddObject(Claims, pending)
	fresh := &metav1.PartialObjectMetadata{ObjectMeta: meta("shop", "a-new")}
	fresh.CreationTimestamp = metav1.NewTime(now)
	s.cluster.AddObject("deployments.apps", fresh)
	s.backup("b", 3*time.Hour, time.Hour, veleroapi.BackupPhaseCompleted, listing(entry(nil)))
	if r, _ := s.judge(t); r.Namespaces[0].Reason != TooOld {
		t.Errorf("%+v", r.Namespaces[0].Item)
	}
}

// TestNamespaceThatDoesNotExist: that one is covered is not said of a name that nothing has.
func TestNamespaceThatDoesNotExist(t *testing.T) {
	s := newScene()
	s.o.OnlyNamespaces = []string{"shop", "shpo"}
	s.backup("b", time.Hour, time.Hour, veleroapi.BackupPhaseCompleted, listing(entry(nil)))
	if r, _ := s.judge(t); r.State != Undecided || !slices.Equal(r.Unchecked, []string{"namespace shpo: there is none"}) {
		t.Errorf("%+v", r)
	}
}

// TestPlatform: the namespaces of a platform are left out until they are named.
func TestPlatform(t *testing.T) {
	s := newScene()
	for _, n := range []string{"kube-system", "openshift", "openshift-dns", "openshifted"} {
		s.cluster.AddObject(Namespaces, &metav1.PartialObjectMetadata{ObjectMeta: meta("", n)})
	}
	r, _ := s.judge(t)
	if want := []string{"kube-system", "openshift", "openshift-dns", "velero"}; !slices.Equal(r.SkippedNamespaces, want) {
		t.Errorf("left out %q, want %q", r.SkippedNamespaces, want)
	}
}

// TestPredict: what the next backup takes, with what pods and claims bring in.
func TestPredict(t *testing.T) {
	s := newScene()
	s.spec.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	p := Predict(s.cluster, s.schedule)
	if !slices.Equal(p.Namespaces, []string{"shop"}) || len(p.Claims) > 0 ||
		!slices.Equal(p.Workloads["Deployment"], []string{"shop/web"}) ||
		len(p.Undecided) > 0 {
		t.Errorf("%+v", p)
	}
	s.claim.Labels["app"] = "web"
	if p = Predict(
		s.cluster,
		s.schedule,
	); !slices.Equal(p.Claims, []string{"shop/data"}) ||
		!slices.Equal(p.ClaimsWithData, p.Claims) {
		t.Errorf("%+v", p)
	}
	delete(s.cluster.Objects, "deployments.apps")
	s.claim.Labels = nil
	if p = Predict(s.cluster, s.schedule); len(p.Undecided) != 1 || len(p.Namespaces) > 0 {
		t.Errorf("%+v", p)
	}
	s.cluster.SelectedNamespaces = map[string]bool{"shop": true}
	if p = Predict(s.cluster, s.schedule); len(p.Undecided) > 0 || !slices.Equal(p.Namespaces, []string{"shop"}) {
		t.Errorf("%+v", p)
	}
}

// TestRuleOfTheScheduleThatNamesTheNamespace: of two that leave a claim out, the schedule made for its namespace says why.
func TestRuleOfTheScheduleThatNamesTheNamespace(t *testing.T) {
	s := newScene()
	yes, no := true, false
	s.spec.IncludedNamespaces, s.spec.DefaultVolumesToFsBackup, s.spec.SnapshotVolumes = []string{"shop"}, &yes, &no
	s.pod.Annotations[veleroapi.VolumesToExcludeAnnotation] = "vol"
	all := &Schedule{
		Schedule: &veleroapi.Schedule{ObjectMeta: meta("velero", "all")},
		NextRun:  now.Add(time.Hour),
		RunAfter: hourly,
	}
	all.Spec.Template.SnapshotVolumes = &no
	for _, order := range [][]*Schedule{{all, s.schedule}, {s.schedule, all}} {
		result := NewJudge(s.cluster, order, nil, s.o).JudgeAll()
		claim := result.Namespaces[0].Claims[0]
		if !strings.Contains(claim.Sentence, "schedule hourly") {
			t.Errorf("%s: %s", claim.Name, claim.Sentence)
		}
	}
}
