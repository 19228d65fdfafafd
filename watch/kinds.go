package watch

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// kind is a watched kind of resource, and what a [Store] does with its objects.
type kind struct {
	resource  string // the plural with its group
	gvk       schema.GroupVersionKind
	goType    reflect.Type
	newObject func() client.Object

	// clusterScoped kinds have no namespace; namespace is that of kinds outside Velero's;
	// selector and field narrow what is read.
	clusterScoped              bool
	optional                   bool // only for those who name it in [Options.With]
	namespace, selector, field string

	// strip drops what is never read, in place, and returns false for an object of no interest; may be nil.
	strip func(client.Object) bool
	// input reads a job, and volume a volume of a job of the resource jobs, whose uid is in
	// uidLabel; nil for other kinds. A job's name is in nameLabel.
	input               func(client.Object) job.Input
	volume              func(client.Object) job.Volume
	jobs                string
	nameLabel, uidLabel string
	share               func(*copies, client.Object) // makes a job share values with others; nil for other kinds
	// makes the list of objects that are kept as they are; nil for jobs and volumes
	newList func() keptList
	observe func(*Store, client.Object) // is called before one is put into it; nil for most
}

// The plurals, with their group, of the watched kinds.
const (
	Backups           = "backups.velero.io"
	Restores          = "restores.velero.io"
	PodVolumeBackups  = "podvolumebackups.velero.io"
	PodVolumeRestores = "podvolumerestores.velero.io"
	DataUploads       = "datauploads.velero.io"
	DataDownloads     = "datadownloads.velero.io"
	Schedules         = "schedules.velero.io"
	Locations         = "backupstoragelocations.velero.io"
	SnapshotLocations = "volumesnapshotlocations.velero.io"
	Repositories      = "backuprepositories.velero.io"
	Deletions         = "deletebackuprequests.velero.io"
	Downloads         = "downloadrequests.velero.io"
	Pods              = "pods"
)

// kinds lists what is watched of Velero, in the order in which a reader looks for it.
var kinds = []*kind{
	jobKind(
		Backups,
		velerov1.BackupNameLabel,
		velerov1.BackupUIDLabel,
		shareBackup,
		func(b *velerov1.Backup) job.Input { return job.Input{Backup: b} },
	),
	jobKind(
		Restores,
		velerov1.RestoreNameLabel,
		velerov1.RestoreUIDLabel,
		shareRestore,
		func(r *velerov1.Restore) job.Input { return job.Input{Restore: r} },
	),
	volumeKind(
		PodVolumeBackups,
		Backups,
		velerov1.BackupUIDLabel,
		velerov1.SchemeGroupVersion,
		job.VolumeFromPodVolumeBackup,
	),
	volumeKind(
		PodVolumeRestores,
		Restores,
		velerov1.RestoreUIDLabel,
		velerov1.SchemeGroupVersion,
		job.VolumeFromPodVolumeRestore,
	),
	volumeKind(
		DataUploads,
		Backups,
		velerov1.BackupUIDLabel,
		velerov2alpha1.SchemeGroupVersion,
		job.VolumeFromDataUpload,
	),
	volumeKind(
		DataDownloads,
		Restores,
		velerov1.RestoreUIDLabel,
		velerov2alpha1.SchemeGroupVersion,
		job.VolumeFromDataDownload,
	),
	newKind[velerov1.Schedule](Schedules, velerov1.SchemeGroupVersion, kind{}),
	newKind[velerov1.BackupStorageLocation](
		Locations,
		velerov1.SchemeGroupVersion,
		kind{observe: (*Store).observeLocation},
	),
	newKind[velerov1.VolumeSnapshotLocation](SnapshotLocations, velerov1.SchemeGroupVersion, kind{optional: true}),
	newKind[velerov1.BackupRepository](Repositories, velerov1.SchemeGroupVersion, kind{}),
	newKind[velerov1.DeleteBackupRequest](Deletions, velerov1.SchemeGroupVersion, kind{}),
	newKind[velerov1.DownloadRequest](
		Downloads,
		velerov1.SchemeGroupVersion,
		kind{optional: true, strip: stripDownload},
	),
	newKind[corev1.Pod](Pods, corev1.SchemeGroupVersion, kind{strip: stripPod}),
}

type pointer[T any] interface {
	*T
	client.Object
}

// newKind completes k with what follows from a type, whose name is the kind's.
func newKind[T any, P pointer[T]](resource string, version schema.GroupVersion, k kind) *kind {
	k.resource, k.goType = resource, reflect.TypeFor[P]()
	k.gvk = version.WithKind(reflect.TypeFor[T]().Name())
	k.newObject = func() client.Object { return P(new(T)) }
	if k.input == nil && k.volume == nil {
		k.newList = func() keptList { return &objectList[P]{} }
	}
	return &k
}

func jobKind[T any, P pointer[T]](
	resource, nameLabel, uidLabel string,
	share func(*copies, P),
	input func(P) job.Input,
) *kind {
	return newKind[T, P](resource, velerov1.SchemeGroupVersion, kind{nameLabel: nameLabel, uidLabel: uidLabel,
		share: func(c *copies, o client.Object) { share(c, o.(P)) },
		input: func(o client.Object) job.Input { return input(o.(P)) }})
}

func volumeKind[T any, P pointer[T]](
	resource, jobs, uidLabel string,
	version schema.GroupVersion,
	volume func(P) job.Volume,
) *kind {
	return newKind[T, P](resource, version, kind{jobs: jobs, uidLabel: uidLabel,
		volume: func(o client.Object) job.Volume { return volume(o.(P)) }})
}

func kindOf(o client.Object) (k *kind, ok bool) {
	return findKind(func(k *kind) bool { return k.goType == reflect.TypeOf(o) })
}

func kindNamed(resource string) (k *kind, ok bool) {
	return findKind(func(k *kind) bool { return k.resource == resource })
}

func findKind(is func(*kind) bool) (k *kind, ok bool) {
	if i := slices.IndexFunc(kinds, is); i >= 0 {
		return kinds[i], true
	}
	return nil, false
}

func volumeKinds(jobs string) (found []*kind) {
	for _, k := range kinds {
		if k.volume != nil && k.jobs == jobs {
			found = append(found, k)
		}
	}
	return found
}

func resourceOf(k job.Kind) string { return k.Resource() + "." + velerov1.SchemeGroupVersion.Group }

// kinds returns all, or what [Options.Only] leaves of them.
func (o Options) kinds() (watched []*kind) {
	for _, k := range kinds {
		if k = k.only(o.Only); k != nil && (!k.optional || slices.Contains(o.With, k.resource)) {
			watched = append(watched, k)
		}
	}
	return watched
}

// only returns the kind narrowed to some jobs, nil if nothing of it belongs to them. An empty name stands for all
// jobs of its kind. The API server finds one object by name, but not several.
func (k *kind) only(jobs []JobName) *kind {
	if len(jobs) == 0 {
		return k
	}
	resource := cmp.Or(k.jobs, k.resource)
	names := namesOf(jobs, resource)
	switch {
	case len(names) == 0:
		return nil
	case slices.Contains(names, ""):
		return k
	case k.input != nil && len(names) == 1:
		some := *k
		some.field = fields.OneTermEqualSelector("metadata.name", names[0]).String()
		return &some
	// Velero shortens other names in labels (pkg/label/label.go, GetValidName).
	case k.volume != nil && len(names) <= maxSelected && !slices.ContainsFunc(names, isNoLabel):
		jobs, _ := kindNamed(resource)
		return k.selecting(jobs.nameLabel + " in (" + strings.Join(names, ",") + ")")
	}
	return k
}

func isNoLabel(name string) bool { return len(validation.IsValidLabelValue(name)) > 0 }

func (k kind) selecting(selector string) *kind {
	k.selector = selector
	return &k
}

func namesOf(jobs []JobName, resource string) (names []string) {
	for _, j := range jobs {
		if j.Resource == resource && !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	return names
}

// prepare strips an object in place, makes its strings harmless and sets the kind. It is false for one of no interest.
func prepare(o client.Object, k *kind) bool {
	if k.strip != nil && !k.strip(o) {
		return false
	}
	if fields := o.GetManagedFields(); len(fields) > 0 {
		// Who wrote last, and when, is the only clock that Velero's resources carry.
		o.SetManagedFields(velero.StripManagedFields(fields))
	}
	annotations := o.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	o.SetAnnotations(annotations)
	sanitize.Object(o)
	o.GetObjectKind().SetGroupVersionKind(k.gvk)
	return true
}

// stripPod keeps what [velero.Server], [velero.Agent] and [velero.Mover] need, and is false for other pods.
func stripPod(o client.Object) bool {
	p := o.(*corev1.Pod)
	if _, moves := velero.MoverOf(p); !moves && !velero.IsServer(p) && !velero.IsNodeAgent(p) {
		return false
	}
	p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName, Containers: stripContainers(p.Spec.Containers)}
	p.Status = corev1.PodStatus{Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message,
		Conditions: p.Status.Conditions, ContainerStatuses: p.Status.ContainerStatuses}
	p.Annotations = nil
	return true
}

func stripContainers(full []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(full))
	for i, c := range full {
		kept[i] = corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args}
		for _, e := range c.Env {
			if e.Name == velero.TimeZoneVariable {
				kept[i].Env = append(kept[i].Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
			}
		}
	}
	return kept
}

// stripDownload drops the signed URL, with which anyone may read what is stored.
func stripDownload(o client.Object) bool {
	o.(*velerov1.DownloadRequest).Status.DownloadURL = ""
	return true
}

// Malformed is a resource whose fields Velero's types cannot hold; they are empty in the snapshot.
type Malformed struct {
	Resource  string // the plural with its group, such as [Schedules]
	Kind      string
	Namespace string
	Name      string
	UID       types.UID
	Fields    []decode.Malformed // never empty
}

// Ref names the resource as KIND/NAME, in lower case.
func (m Malformed) Ref() string { return strings.ToLower(m.Kind) + "/" + m.Name }

func compareMalformed(a, b Malformed) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
