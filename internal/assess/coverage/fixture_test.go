package coverage

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// scene is a cluster with claim shop/data, mounted by the running pod db of node n1, a Deployment, and a schedule that takes all hourly.
type scene struct {
	cluster  *Cluster
	schedule *Schedule
	spec     *veleroapi.BackupSpec
	ns       *corev1.Namespace
	claim    *corev1.PersistentVolumeClaim
	volume   *corev1.PersistentVolume
	pod      *corev1.Pod
	backups  []*veleroapi.Backup
	records  map[string]*Record
	o        Options
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         namespace,
		Name:              name,
		CreationTimestamp: metav1.NewTime(now.Add(-30 * 24 * time.Hour)),
		Labels:            map[string]string{},
		Annotations:       map[string]string{},
	}
}

func newScene() *scene {
	class := "fast"
	s := &scene{
		ns: &corev1.Namespace{
			ObjectMeta: meta("", "shop"),
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		},
		claim: &corev1.PersistentVolumeClaim{
			ObjectMeta: meta("shop", "data"),
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-data", StorageClassName: &class},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		},
		volume: &corev1.PersistentVolume{ObjectMeta: meta("", "pv-data")},
		pod: &corev1.Pod{ObjectMeta: meta("shop", "db"), Spec: corev1.PodSpec{
			NodeName: "n1",
			Volumes: []corev1.Volume{
				{
					Name: "vol",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
					},
				},
			},
			Containers: []corev1.Container{
				{VolumeMounts: []corev1.VolumeMount{{Name: "vol"}}},
			},
		}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		records: map[string]*Record{},
		o: Options{
			Now:       now,
			CopyRules: velero.CopyRules{LocationPhases: map[string]veleroapi.BackupStorageLocationPhase{"default": "Available"}},
		},
	}
	s.volume.Spec.StorageClassName = class
	s.volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	s.volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com"}
	agent := &corev1.Pod{
		ObjectMeta: meta("velero", "agent"),
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	agent.Labels["role"] = "node-agent"
	s.cluster = &Cluster{
		Objects:      map[string]map[string]metav1.Object{},
		Volumes:      map[string]*corev1.PersistentVolume{"pv-data": s.volume},
		Provisioners: map[string]string{"fast": "csi.example.com"},
		SnapshotClasses: []SnapshotClass{
			{Name: "snap", Driver: "csi.example.com"},
		},
		Policies:        map[string]*Policy{},
		VeleroNamespace: "velero",
		Unchecked:       map[string]string{},
	}
	controls := true
	s.pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", Controller: &controls}}
	s.cluster.AddObject(Namespaces, s.ns)
	s.cluster.AddObject(Claims, s.claim)
	s.cluster.AddObject(Pods, s.pod)
	s.cluster.AddObject(Pods, agent)
	web := &metav1.PartialObjectMetadata{ObjectMeta: meta("shop", "web")}
	web.Labels["app"] = "web"
	s.cluster.AddObject("deployments.apps", web)
	s.cluster.Server = velero.Server{
		Visible:   true,
		ServerPod: velero.ServerPod{Name: "velero", Flags: velero.DefaultServerFlags()},
	}
	s.cluster.Server.Flags.Features = []string{"EnableCSI"}
	schedule := &veleroapi.Schedule{ObjectMeta: meta("velero", "hourly")}
	s.spec = &schedule.Spec.Template
	s.schedule = &Schedule{
		Schedule:          schedule,
		NextRun:           now.Add(30 * time.Minute),
		RunAfter:          hourly,
		LastEndedRunStart: now.Add(-30 * time.Minute),
	}
	return s
}

func hourly(t time.Time) time.Time { return t.Add(time.Hour) }

// policy gives the schedule a resource policy.
func (s *scene) policy(text string) {
	s.spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "rules"}
	s.cluster.Policies["rules"] = ParsePolicy(
		"rules",
		map[string]string{"policy": "version: v1\n" + strings.ReplaceAll(text, "\t", "  ")},
	)
}

func (s *scene) source(source corev1.PersistentVolumeSource) {
	s.volume.Spec.PersistentVolumeSource = source
}

func nfsSource() corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/data"}}
}

// backup adds one that began ago and lasts for ttl; the newest comes first.
func (s *scene) backup(name string, ago, ttl time.Duration, phase veleroapi.BackupPhase, r *Record) *veleroapi.Backup {
	b := &veleroapi.Backup{ObjectMeta: meta("velero", name)}
	start, end := metav1.NewTime(now.Add(-ago)), metav1.NewTime(now.Add(ttl))
	b.Status = veleroapi.BackupStatus{Phase: phase, StartTimestamp: &start, Expiration: &end}
	b.Spec.StorageLocation = "default"
	s.backups = append(s.backups, b)
	s.records[name] = r
	return b
}

func listing(volumes ...artifact.VolumeInfo) *Record {
	return NewRecord([]artifact.KindItems{
		{
			Kind:  "v1/Namespace",
			Items: []artifact.ItemEntry{{Name: "shop"}},
		},
		{Kind: "apps/v1/Deployment", Items: []artifact.ItemEntry{{Namespace: "shop", Name: "web"}}},
		{
			Kind:  "v1/PersistentVolumeClaim",
			Items: []artifact.ItemEntry{{Namespace: "shop", Name: "data"}},
		},
		{Kind: "v1/PersistentVolume", Items: []artifact.ItemEntry{{Name: "pv-data"}}},
	}, volumes, false)
}

func entry(change func(*artifact.VolumeInfo)) artifact.VolumeInfo {
	v := artifact.VolumeInfo{
		Namespace:        "shop",
		Claim:            "data",
		PersistentVolume: "pv-data",
		Method:           "CSISnapshot",
		Result:           "succeeded",
	}
	if change != nil {
		change(&v)
	}
	return v
}

// judge gives the judge what it needs; a nil record was not read.
func (s *scene) judge(t *testing.T) (*Result, Item) {
	t.Helper()
	j := NewJudge(s.cluster, []*Schedule{s.schedule}, s.backups, s.o)
	for _, b := range s.backups {
		if !j.NeedsBackup(b) {
			continue
		}
		if r := s.records[b.Name]; r != nil {
			j.AddBackup(b, r)
		} else {
			j.RecordUnread(b, errTest)
		}
	}
	r := j.JudgeAll()
	for _, n := range r.Namespaces {
		for _, c := range n.Claims {
			if n.Name == "shop" && c.Name == "data" {
				return r, c
			}
		}
	}
	t.Fatalf("claim shop/data is not in %+v", r)
	return nil, Item{}
}
