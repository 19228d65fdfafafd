//go:build e2e

package e2e

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// schedulePlant is a namespace why-NAME with claim data and Deployment web, and schedule why-NAME,
// which would take it but for what change does.
type schedulePlant struct {
	name          string
	change        func(*veleroapi.ScheduleSpec)
	phase         veleroapi.BackupPhase // in which Velero ends its backup; empty if it is never asked for one
	reason, words string                // of the claim
}

const (
	doneWell = veleroapi.BackupPhaseCompleted
	donePart = veleroapi.BackupPhasePartiallyFailed
	refused  = veleroapi.BackupPhaseFailedValidation
)

func ofSpec(change func(*veleroapi.BackupSpec)) func(*veleroapi.ScheduleSpec) {
	return func(s *veleroapi.ScheduleSpec) { change(&s.Template) }
}

func policyOf(name string) func(*veleroapi.ScheduleSpec) {
	return ofSpec(func(s *veleroapi.BackupSpec) {
		s.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	})
}

func withKeep(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"keep": value}}
}

// policyPlants are ConfigMaps of resource policies by name.
var policyPlants = map[string]string{
	"why-old-version": "version: v2\n",
	"why-unknown-key": "version: v1\nvolumePolicy: []\n",
	"why-bad-action":  "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: ignore}\n",
	"why-bad-size":    "version: v1\nvolumePolicies:\n- conditions: {capacity: 10Gi}\n  action: {type: skip}\n",
	"why-twice":       "version: v1\nnamespacedFilterPolicies:\n- {namespaces: [why-twice], resourceFilters: [{kinds: [pods]}]}\n- {namespaces: [why-twice], resourceFilters: [{kinds: [jobs]}]}\n",
	"why-no-filter":   "version: v1\nnamespacedFilterPolicies:\n- {namespaces: [why-no-filter], resourceFilters: []}\n",
	"why-catch-all":   "version: v1\nclusterScopedFilterPolicy: {resourceFilters: [{kinds: [\"*\"]}]}\n",
	"why-star":        "version: v1\nincludeExcludePolicy: {excludedNamespaceScopedResources: [\"*\"]}\n",
	"why-kinds":       "version: v1\nincludeExcludePolicy: {excludedNamespaceScopedResources: [persistentvolumeclaims]}\n",
	"why-other-kinds": "version: v1\nincludeExcludePolicy: {includedNamespaceScopedResources: [deployments.apps]}\n",
	"why-by-kind":     "version: v1\nnamespacedFilterPolicies:\n- {namespaces: [why-by-kind], resourceFilters: [{kinds: [deployments.apps]}]}\n",
	"why-by-name":     "version: v1\nnamespacedFilterPolicies:\n- {namespaces: [\"why-by-n*\"], resourceFilters: [{kinds: [pvc], excludedNames: [\"da*\"]}]}\n",
	"why-by-label":    "version: v1\nnamespacedFilterPolicies:\n- {namespaces: [why-by-label], resourceFilters: [{kinds: [pvc], labelSelector: {matchLabels: {keep: \"yes\"}}}]}\n",
	"why-rules":       rulesOfVolumes,
	"why-skipped":     "version: v1\nvolumePolicies:\n- conditions: {}\n  action: {type: skip}\n",
}

var schedulePlants = []schedulePlant{
	{"good", nil, doneWell, "", ""},
	{
		"expires",
		ofSpec(func(s *veleroapi.BackupSpec) { s.TTL.Duration = 24 * time.Hour }),
		doneWell,
		"ExpiresFirst",
		"Schedule why-expires takes it again",
	},
	{
		"paused",
		func(s *veleroapi.ScheduleSpec) { s.Paused = true },
		"",
		"SchedulePaused",
		"schedule why-paused: the schedule is paused",
	},
	{
		"bad-cron",
		func(s *veleroapi.ScheduleSpec) { s.Schedule = "every day" },
		"",
		"ScheduleInvalid",
		"schedule why-bad-cron: Velero rejected the schedule",
	},
	{
		"never-due",
		func(s *veleroapi.ScheduleSpec) { s.Schedule = "0 0 31 2 *" },
		"",
		"",
		"",
	}, // Velero takes what has no next run for due
	{"never-run", nil, "", "NotYet", "schedule why-never-run takes it"},
	{"excluded", ofSpec(func(s *veleroapi.BackupSpec) {
		s.IncludedNamespaces, s.ExcludedNamespaces = []string{"why-excluded*"}, []string{"why-excluded"}
	}), doneWell, "NamespaceExcluded", "excludedNamespaces (why-excluded) names the namespace"},
	{"glob-excluded", ofSpec(func(s *veleroapi.BackupSpec) {
		s.IncludedNamespaces, s.ExcludedNamespaces = []string{"why-glob-e*"}, []string{"why-*-exclude?"}
	}), doneWell, "NamespaceExcluded", "excludedNamespaces (why-*-exclude?)"},
	{
		"by-glob",
		ofSpec(func(s *veleroapi.BackupSpec) { s.IncludedNamespaces = []string{"why-by-gl[ao]b"} }),
		doneWell,
		"",
		"",
	},

	// Each of these backups Velero refuses.
	{
		"away",
		ofSpec(func(s *veleroapi.BackupSpec) { s.StorageLocation = "why-away" }),
		refused,
		"BackupsRefused",
		"location why-away is Unavailable",
	},
	{
		"read-only",
		ofSpec(func(s *veleroapi.BackupSpec) { s.StorageLocation = "why-read-only" }),
		refused,
		"BackupsRefused",
		"location why-read-only is ReadOnly",
	},
	{
		"no-location",
		ofSpec(func(s *veleroapi.BackupSpec) { s.StorageLocation = "why-nowhere" }),
		refused,
		"BackupsRefused",
		"no storage location why-nowhere",
	},
	{
		"no-snapshots",
		ofSpec(func(s *veleroapi.BackupSpec) { s.VolumeSnapshotLocations = []string{"why-nowhere"} }),
		refused,
		"BackupsRefused",
		"volume snapshot location why-nowhere",
	},
	{"no-policy", policyOf("why-no-policy"), refused, "BackupsRefused", "ConfigMap why-no-policy"},
	{
		"old-version",
		policyOf("why-old-version"),
		refused,
		"BackupsRefused",
		"ConfigMap why-old-version: its version is \"v2\"",
	},
	{"unknown-key", policyOf("why-unknown-key"), refused, "BackupsRefused", "volumePolicy"},
	{"bad-action", policyOf("why-bad-action"), refused, "BackupsRefused", "ignore"},
	{"bad-size", policyOf("why-bad-size"), refused, "BackupsRefused", "10Gi"},
	{"twice", policyOf("why-twice"), refused, "BackupsRefused", "ConfigMap why-twice"},
	{"no-filter", policyOf("why-no-filter"), refused, "BackupsRefused", "ConfigMap why-no-filter"},
	{"catch-all", policyOf("why-catch-all"), refused, "BackupsRefused", "ConfigMap why-catch-all"},
	{"star", policyOf("why-star"), refused, "BackupsRefused", "includeExcludePolicy"},
	{"two-ages", ofSpec(func(s *veleroapi.BackupSpec) {
		s.ExcludedResources, s.ExcludedClusterScopedResources = []string{"secrets"}, []string{"nodes"}
	}), refused, "BackupsRefused", "mixes old and new filters"},
	{"old-and-policy", func(s *veleroapi.ScheduleSpec) {
		policyOf("why-kinds")(s)
		s.Template.ExcludedResources = []string{"secrets"}
	}, refused, "BackupsRefused", "old filters"},
	{"two-selectors", ofSpec(func(s *veleroapi.BackupSpec) {
		s.LabelSelector, s.OrLabelSelectors = withKeep("a"), []*metav1.LabelSelector{withKeep("b")}
	}), refused, "BackupsRefused", "orLabelSelectors"},
	{
		"contradicting",
		ofSpec(func(s *veleroapi.BackupSpec) { s.ExcludedNamespaces = []string{"why-contradicting"} }),
		refused,
		"BackupsRefused",
		"namespaces",
	},
	{"kind-twice", ofSpec(func(s *veleroapi.BackupSpec) {
		s.IncludedResources, s.ExcludedResources = []string{"pods"}, []string{"pods"}
	}), refused, "BackupsRefused", "resources"},
	{
		"all-kinds-out",
		ofSpec(func(s *veleroapi.BackupSpec) { s.ExcludedResources = []string{"*"} }),
		refused,
		"BackupsRefused",
		"excludedResources",
	},
	{
		"bad-glob",
		ofSpec(func(s *veleroapi.BackupSpec) { s.IncludedNamespaces = []string{"why-bad-glob", "x**"} }),
		refused,
		"BackupsRefused",
		"pattern",
	},

	// These run, and leave the claim or its data out.
	{
		"no-kind",
		ofSpec(func(s *veleroapi.BackupSpec) { s.ExcludedResources = []string{"pvc"} }),
		doneWell,
		"KindExcluded",
		"leave out persistentvolumeclaims",
	},
	{
		"some-kinds",
		ofSpec(func(s *veleroapi.BackupSpec) { s.IncludedResources = []string{"deploy", "configmaps"} }),
		doneWell,
		"KindExcluded",
		"leave out persistentvolumeclaims",
	},
	{"scoped-out", ofSpec(func(s *veleroapi.BackupSpec) {
		s.ExcludedNamespaceScopedResources = []string{"persistentvolumeclaims"}
	}), doneWell, "KindExcluded", "leave out persistentvolumeclaims"},
	{
		"scoped-in",
		ofSpec(func(s *veleroapi.BackupSpec) { s.IncludedNamespaceScopedResources = []string{"deployments.apps"} }),
		doneWell,
		"KindExcluded",
		"leave out persistentvolumeclaims",
	},
	{"kinds", policyOf("why-kinds"), doneWell, "KindExcluded", "leave out persistentvolumeclaims"},
	{"other-kinds", policyOf("why-other-kinds"), doneWell, "KindExcluded", "leave out persistentvolumeclaims"},
	{
		"no-cluster",
		ofSpec(func(s *veleroapi.BackupSpec) { s.IncludeClusterResources = new(bool) }),
		doneWell,
		"OldVolumeRecord",
		"leaves out its PersistentVolume",
	},
	{
		"no-volumes",
		ofSpec(func(s *veleroapi.BackupSpec) { s.ExcludedClusterScopedResources = []string{"persistentvolumes"} }),
		doneWell,
		"OldVolumeRecord",
		"leaves out its PersistentVolume",
	},
	{
		"selector",
		ofSpec(func(s *veleroapi.BackupSpec) { s.LabelSelector = withKeep("yes") }),
		doneWell,
		"SelectorMismatch",
		"do not match keep=yes",
	},
	{"selectors", ofSpec(func(s *veleroapi.BackupSpec) {
		s.OrLabelSelectors = []*metav1.LabelSelector{withKeep("a"), withKeep("b")}
	}), doneWell, "SelectorMismatch", "keep=a or keep=b"},
	{"expression", ofSpec(func(s *veleroapi.BackupSpec) {
		s.LabelSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "keep", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}},
			},
		}
	}), doneWell, "SelectorMismatch", "do not match keep in (a,b)"},
	{"by-kind", policyOf("why-by-kind"), doneWell, "PolicyFilter", "namespacedFilterPolicies"},
	{"by-name", policyOf("why-by-name"), doneWell, "PolicyFilter", "leave out the name"},
	{"by-label", policyOf("why-by-label"), doneWell, "PolicyFilter", "selector of namespacedFilterPolicies"},
	{
		"snapshots-off",
		ofSpec(func(s *veleroapi.BackupSpec) { s.SnapshotVolumes = new(bool) }),
		doneWell,
		"SnapshotsOff",
		"snapshotVolumes is false",
	},
	{
		"unmoved",
		ofSpec(func(s *veleroapi.BackupSpec) { s.SnapshotMoveData = new(true) }),
		donePart,
		"NoNodeAgent",
		"to be moved, and no node-agent runs",
	},

	// These are right now, and what is stored says otherwise; see evidence.
	{"unread", nil, doneWell, "NotRead", "not read that may hold it"},
	{
		"widened",
		ofSpec(func(s *veleroapi.BackupSpec) { s.LabelSelector = withKeep("yes") }),
		doneWell,
		"NotInBackup",
		"although schedule why-widened takes it",
	},
	{"skipped", policyOf("why-skipped"), doneWell, "VolumeSkipped", "skipped due to resource policy"},
	{"failed", nil, "", "BackupFailed", "why-failed is Failed"},
	{"refused-once", nil, "", "BackupFailed", "why-refused-once is FailedValidation"},
	{"late-volume", nil, donePart, "", ""},
	{"added", nil, doneWell, "", ""},
	{
		"expired",
		func(s *veleroapi.ScheduleSpec) { s.Schedule = "@every 5s" },
		"",
		"BackupDeleted",
		"is not there any more",
	},
	{"new", ofSpec(func(s *veleroapi.BackupSpec) { s.IncludedNamespaces = []string{"why-new*"} }), doneWell, "", ""},
}

// volumePlant is a claim of a namespace whose schedule takes it but for its data.
type volumePlant struct {
	name string
	plantedClaim
	node          string // of the pod that mounts it, none if it begins with -, and pending if it is empty
	pod           func(*corev1.Pod)
	reason, words string
}

var (
	noClass  = new("")
	nfsShare = &corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.1.1.1", Path: "/x"}}
	nfsOther = &corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.2.2.2", Path: "/y"}}
	hostPath = &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}
	foreign  = &corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "other.example.com", VolumeHandle: "x"},
	}
	gold = &corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{
			Driver:           "gold.example.com",
			VolumeHandle:     "x",
			VolumeAttributes: map[string]string{"pool": "gold"},
		},
	}
	iscsi = &corev1.PersistentVolumeSource{
		ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.1.1.1", IQN: "iqn.2026-01.com.example:x"},
	}
	into      = optsIn(veleroapi.VolumesToBackupAnnotation, "vol")
	outOf     = optsIn(veleroapi.VolumesToExcludeAnnotation, "vol")
	excluding = map[string]string{veleroapi.ExcludeFromBackupLabel: "true"}
)

const noPod = "-"

func changed(source *corev1.PersistentVolumeSource, change func(*corev1.PersistentVolumeClaim)) plantedClaim {
	return plantedClaim{
		class:  noClass,
		source: source,
		change: func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { change(c) },
	}
}

func plain(source *corev1.PersistentVolumeSource) plantedClaim {
	return plantedClaim{class: noClass, source: source}
}

func block(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }

// volumePlants are by namespace, which is also the name of its schedule.
var volumePlants = map[string][]volumePlant{
	"why-volumes": {
		{"snapped", plantedClaim{}, noPod, nil, "", ""},
		{"host", plain(hostPath), noPod, nil, "HostPath", "hostPath"},
		{"host-mounted", plain(hostPath), lab.NodeName, into, "HostPath", "hostPath"},
		{"unmounted", plain(nfsShare), noPod, nil, "NotMounted", "no pod mounts it"},
		{
			"mounted",
			plain(nfsShare),
			lab.NodeName,
			nil,
			"NotOptedIn",
			"no pod's annotation backup.velero.io/backup-volumes names it",
		},
		{
			"misspelt",
			plain(nfsShare),
			lab.NodeName,
			optsIn(veleroapi.VolumesToBackupAnnotation, "other, vol"),
			"NotOptedIn",
			"names it",
		},
		{
			"old-spelling",
			plain(nfsShare),
			lab.NodeName,
			optsIn("backup.ark.heptio.com/backup-volumes", "vol"),
			"NotOptedIn",
			"names it",
		},
		{"opted-in", plain(nfsShare), lab.NodeName, into, "VolumeFailed", "PodVolumeBackup"},
		{"elsewhere", plain(nfsShare), otherNode, into, "NoNodeAgent", "no node-agent runs on node why-node"},
		{"resting", plain(nfsShare), "", into, "PodNotRunning", "pod mounts-resting does not run"},
		{
			"left-pod",
			plain(nfsShare),
			lab.NodeName,
			func(p *corev1.Pod) { into(p); p.Labels = excluding },
			"PodNotTaken",
			"needs pod mounts-left-pod, which the backup leaves out",
		},
		{
			"declared",
			plain(nfsShare),
			lab.NodeName,
			func(p *corev1.Pod) { into(p); p.Spec.Containers[0].VolumeMounts = nil },
			"NotMounted",
			"no container of pod mounts-declared mounts it",
		},
		{"block", changed(foreign, block), lab.NodeName, func(p *corev1.Pod) {
			into(p)
			p.Spec.Containers[0].VolumeMounts, p.Spec.Containers[0].VolumeDevices = nil, []corev1.VolumeDevice{
				{Name: "vol", DevicePath: "/dev/x"},
			}
		}, "BlockVolume", "block volume"},
		{
			"class-gone",
			plantedClaim{class: new("why-missing"), source: foreign},
			noPod,
			nil,
			"NoStorageClass",
			"storage class why-missing does not exist",
		},
		{
			"no-class",
			plantedClaim{
				source: foreign,
				change: func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Spec.StorageClassName = nil },
			},
			noPod,
			nil,
			"NoStorageClass",
			"names no storage class",
		},
		{
			"no-snapshot-class",
			plantedClaim{class: new("why-other"), source: foreign},
			noPod,
			nil,
			"NoSnapshotClass",
			"no VolumeSnapshotClass fits driver other.example.com",
		},
		{
			"two-classes",
			plantedClaim{class: new("why-two"), source: foreign},
			noPod,
			nil,
			"NoSnapshotClass",
			"two.example.com",
		},
		{
			"stuck",
			plantedClaim{class: new("why-stuck"), source: foreign},
			noPod,
			nil,
			"VolumeFailed",
			"its CSI snapshot was not ready within csiSnapshotTimeout",
		},
		{
			"left-out",
			plantedClaim{
				change: func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Labels = excluding },
			},
			noPod,
			nil,
			"LabelExcluded",
			"velero.io/exclude-from-backup",
		},
		{
			"volume-left-out",
			plantedClaim{
				class: new("why-lab"),
				source: &corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: lab.SnapshotDriver, VolumeHandle: "x"},
				},
				change: func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Labels = excluding },
			},
			noPod,
			nil,
			"OldVolumeRecord",
			"leaves out its PersistentVolume",
		},
	},
	"why-copies": { // with defaultVolumesToFsBackup
		{
			"opted-out",
			plain(nfsShare),
			lab.NodeName,
			outOf,
			"OptedOut",
			"backup.velero.io/backup-volumes-excludes of a pod excludes it",
		},
		{"unmounted", plain(nfsShare), noPod, nil, "NotMounted", "no pod mounts it"},
		{"host", plain(hostPath), lab.NodeName, nil, "HostPath", "hostPath"},
		{"resting", plain(nfsShare), "", nil, "PodNotRunning", "mounts-resting"},
		{"opted-in", plain(nfsShare), otherNode, nil, "NoNodeAgent", "why-node"},
	},
	"why-restic": { // with the old name of defaultVolumesToFsBackup
		{
			"opted-out",
			plain(nfsShare),
			lab.NodeName,
			outOf,
			"OptedOut",
			"backup.velero.io/backup-volumes-excludes of a pod excludes it",
		},
		{"resting", plain(nfsShare), "", nil, "PodNotRunning", "mounts-resting"},
	},
	"why-rules": {
		{
			"by-class",
			plantedClaim{class: new("why-slow"), source: foreign},
			noPod,
			nil,
			"PolicySkips",
			"volume policy 1 of ConfigMap why-rules skips it",
		},
		{"by-size", changed(nfsOther, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("7Gi")}
		}), noPod, nil, "PolicySkips", "volume policy 2 of ConfigMap why-rules skips it"},
		{"by-server", plain(nfsShare), noPod, nil, "PolicySkips", "volume policy 3 of"},
		{"by-driver", plain(foreign), noPod, nil, "PolicySkips", "volume policy 4 of"},
		{"by-attribute", plain(gold), noPod, nil, "PolicySkips", "volume policy 5 of"},
		{"by-type", plain(iscsi), noPod, nil, "PolicySkips", "volume policy 6 of"},
		{
			"by-label",
			changed(nfsOther, func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"tier": "cache"} }),
			noPod,
			nil,
			"PolicySkips",
			"volume policy 7 of",
		},
		{"by-mode", changed(nfsOther, block), noPod, nil, "PolicySkips", "volume policy 9 of"},
		{"by-access", changed(nfsOther, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}), noPod, nil, "PolicySkips", "volume policy 10 of"},
		{
			"by-plugin",
			changed(nfsOther, func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"tier": "plugin"} }),
			noPod,
			nil,
			"PolicyCustom",
			"volume policy 11 of ConfigMap why-rules leaves it to a plugin",
		},
		{
			"by-copy",
			changed(nfsOther, func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"tier": "copied"} }),
			noPod,
			nil,
			"NotMounted",
			"volume policy 12 wants a file system backup",
		},
		{
			"by-snapshot",
			changed(
				nfsOther,
				func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"tier": "snapped"} },
			),
			noPod,
			nil,
			"NotSnapshottable",
			"its volume is nfs",
		},
		{"unnamed", plain(nfsOther), lab.NodeName, nil, "NotOptedIn", "names it"},
	},
}

const rulesOfVolumes = `version: v1
volumePolicies:
- {conditions: {storageClass: [why-fast, why-slow]}, action: {type: skip}}
- {conditions: {capacity: "5Gi,10Gi"}, action: {type: skip}}
- {conditions: {nfs: {server: 10.1.1.1}}, action: {type: skip}}
- {conditions: {csi: {driver: other.example.com}}, action: {type: skip}}
- {conditions: {csi: {driver: gold.example.com, volumeAttributes: {pool: gold}}}, action: {type: skip}}
- {conditions: {volumeTypes: [iscsi, cephfs]}, action: {type: skip}}
- {conditions: {pvcLabels: {tier: cache}}, action: {type: skip}}
- {conditions: {pvcPhase: [Pending]}, action: {type: skip}}
- {conditions: {pvcVolumeMode: Block}, action: {type: skip}}
- {conditions: {pvcAccessModes: [ReadWriteMany]}, action: {type: skip}}
- {conditions: {pvcLabels: {tier: plugin}}, action: {type: custom}}
- {conditions: {pvcLabels: {tier: copied}}, action: {type: fs-backup}}
- {conditions: {pvcLabels: {tier: snapped}}, action: {type: snapshot}}
`

// volumeSchedules change the schedules of volumePlants.
var volumeSchedules = map[string]func(*veleroapi.ScheduleSpec){
	"why-volumes": ofSpec(
		func(s *veleroapi.BackupSpec) { s.CSISnapshotTimeout = metav1.Duration{Duration: 3 * time.Second} },
	),
	"why-copies": ofSpec(func(s *veleroapi.BackupSpec) { s.DefaultVolumesToFsBackup = new(true) }),
	//lint:ignore SA1019 Velero still reads it
	"why-restic": ofSpec(func(s *veleroapi.BackupSpec) { s.DefaultVolumesToRestic = new(true) }),
	"why-rules":  policyOf("why-rules"),
}
