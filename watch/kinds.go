package watch

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

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
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// kind is a watched kind of resource, and how a [Store] handles its objects.
type kind struct {
	resource  string // the plural with its group
	gvk       schema.GroupVersionKind
	goType    reflect.Type
	newObject func() client.Object

	// clusterScoped kinds have no namespace; namespace is set for kinds outside Velero's; labelSelector and
	// fieldSelector narrow what is read.
	clusterScoped                           bool
	optional                                bool // watched only if named in [Options.OptionalKinds]
	namespace, labelSelector, fieldSelector string

	// strip drops the fields that are never read, in place, and is false for an object to ignore; may be nil.
	strip func(client.Object) bool
	// toObservedJob converts a job, and toVolume a volume of a job of the resource jobResource; both are nil for other
	// kinds. uidLabel holds the job's uid, and nameLabel its name.
	toObservedJob       func(client.Object) job.Observation
	toVolume            func(client.Object) job.Volume
	jobResource         string
	nameLabel, uidLabel string
	// shareValues makes a job share values with others; nil for volumes and other kinds.
	shareValues func(*sharedValues, client.Object)
	// newList returns an empty list for objects that are kept as they are; nil for jobs and volumes.
	newList   func() keptObjects
	beforePut func(*Store, client.Object) // called before an object is added to the list; nil for most kinds
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
	StorageLocations  = "backupstoragelocations.velero.io"
	SnapshotLocations = "volumesnapshotlocations.velero.io"
	Repositories      = "backuprepositories.velero.io"
	DeleteRequests    = "deletebackuprequests.velero.io"
	DownloadRequests  = "downloadrequests.velero.io"
	Pods              = "pods"
)

// kinds are the watched kinds of Velero, in the order in which a reader expects them.
var kinds = []*kind{
	newJobKind(
		Backups,
		veleroapi.BackupNameLabel,
		veleroapi.BackupUIDLabel,
		shareBackup,
		func(b *veleroapi.Backup) job.Observation { return job.Observation{Backup: b} },
	),
	newJobKind(
		Restores,
		veleroapi.RestoreNameLabel,
		veleroapi.RestoreUIDLabel,
		shareRestore,
		func(r *veleroapi.Restore) job.Observation { return job.Observation{Restore: r} },
	),
	newVolumeKind(
		PodVolumeBackups,
		Backups,
		veleroapi.BackupUIDLabel,
		veleroapi.GroupVersion,
		job.VolumeFromPodVolumeBackup,
	),
	newVolumeKind(
		PodVolumeRestores,
		Restores,
		veleroapi.RestoreUIDLabel,
		veleroapi.GroupVersion,
		job.VolumeFromPodVolumeRestore,
	),
	newVolumeKind(
		DataUploads,
		Backups,
		veleroapi.BackupUIDLabel,
		veleroapi.GroupVersionV2Alpha1,
		job.VolumeFromDataUpload,
	),
	newVolumeKind(
		DataDownloads,
		Restores,
		veleroapi.RestoreUIDLabel,
		veleroapi.GroupVersionV2Alpha1,
		job.VolumeFromDataDownload,
	),
	newKind[veleroapi.Schedule](Schedules, veleroapi.GroupVersion, kind{}),
	newKind[veleroapi.BackupStorageLocation](
		StorageLocations,
		veleroapi.GroupVersion,
		kind{beforePut: (*Store).noteLocation},
	),
	newKind[veleroapi.VolumeSnapshotLocation](SnapshotLocations, veleroapi.GroupVersion, kind{optional: true}),
	newKind[veleroapi.BackupRepository](Repositories, veleroapi.GroupVersion, kind{}),
	newKind[veleroapi.DeleteBackupRequest](DeleteRequests, veleroapi.GroupVersion, kind{}),
	newKind[veleroapi.DownloadRequest](
		DownloadRequests,
		veleroapi.GroupVersion,
		kind{optional: true, strip: stripDownload},
	),
	newKind[corev1.Pod](Pods, corev1.SchemeGroupVersion, kind{strip: stripPod}),
}

type objectPointer[T any] interface {
	*T
	client.Object
}

// newKind completes k with what follows from a Go type, whose name is the name of the kind.
func newKind[T any, P objectPointer[T]](resource string, version schema.GroupVersion, k kind) *kind {
	k.resource, k.goType = resource, reflect.TypeFor[P]()
	k.gvk = version.WithKind(reflect.TypeFor[T]().Name())
	k.newObject = func() client.Object { return P(new(T)) }
	if k.toObservedJob == nil && k.toVolume == nil {
		k.newList = func() keptObjects { return &objectList[P]{} }
	}
	return &k
}

func newJobKind[T any, P objectPointer[T]](
	resource, nameLabel, uidLabel string,
	share func(*sharedValues, P),
	input func(P) job.Observation,
) *kind {
	return newKind[T, P](resource, veleroapi.GroupVersion, kind{nameLabel: nameLabel, uidLabel: uidLabel,
		shareValues:   func(c *sharedValues, o client.Object) { share(c, o.(P)) },
		toObservedJob: func(o client.Object) job.Observation { return input(o.(P)) }})
}

func newVolumeKind[T any, P objectPointer[T]](
	resource, jobs, uidLabel string,
	version schema.GroupVersion,
	volume func(P) job.Volume,
) *kind {
	return newKind[T, P](resource, version, kind{jobResource: jobs, uidLabel: uidLabel,
		toVolume: func(o client.Object) job.Volume { return volume(o.(P)) }})
}

func kindByType(o client.Object) (k *kind, ok bool) {
	return findKind(func(k *kind) bool { return k.goType == reflect.TypeOf(o) })
}

func kindByResource(resource string) (k *kind, ok bool) {
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
		if k.toVolume != nil && k.jobResource == jobs {
			found = append(found, k)
		}
	}
	return found
}

func jobResourceOf(k job.Kind) string { return k.Resource() + "." + veleroapi.GroupVersion.Group }

// watchedKinds returns the kinds to watch, narrowed to [Options.OnlyJobs].
func (o Options) watchedKinds() (watched []*kind) {
	for _, k := range kinds {
		if k = k.restrictTo(o.OnlyJobs); k != nil && (!k.optional || slices.Contains(o.OptionalKinds, k.resource)) {
			watched = append(watched, k)
		}
	}
	return watched
}

// restrictTo returns the kind narrowed to some jobs, nil if none of its objects belongs to them. An empty name stands
// for all jobs of its kind. The API server can select one object by name, but not several.
func (k *kind) restrictTo(jobs []JobName) *kind {
	if len(jobs) == 0 {
		return k
	}
	resource := cmp.Or(k.jobResource, k.resource)
	names := jobNamesOf(jobs, resource)
	switch {
	case len(names) == 0:
		return nil
	case slices.Contains(names, ""):
		return k
	case k.toObservedJob != nil && len(names) == 1:
		some := *k
		some.fieldSelector = fields.OneTermEqualSelector("metadata.name", names[0]).String()
		return &some
	// Velero shortens other names in labels (pkg/label/label.go, GetValidName).
	case k.toVolume != nil && len(names) <= maxSelectedUIDs && !slices.ContainsFunc(names, isInvalidLabel):
		jobs, _ := kindByResource(resource)
		return k.withSelector(jobs.nameLabel + " in (" + strings.Join(names, ",") + ")")
	}
	return k
}

func isInvalidLabel(name string) bool { return len(validation.IsValidLabelValue(name)) > 0 }

func (k kind) withSelector(selector string) *kind {
	k.labelSelector = selector
	return &k
}

func jobNamesOf(jobs []JobName, resource string) (names []string) {
	for _, j := range jobs {
		if j.Resource == resource && !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	return names
}

// prepareObject strips an object in place, sanitizes its strings and sets its kind. It is false for an object to
// ignore.
func prepareObject(received *receivedObject, k *kind) bool {
	o := received.Object
	if k.strip != nil && !k.strip(o) {
		return false
	}
	if fields := o.GetManagedFields(); len(fields) > 0 {
		// Keep who wrote last, and when: nothing else dates a change of Velero's resources.
		o.SetManagedFields(velero.StripManagedFields(fields))
	}
	annotations := o.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	o.SetAnnotations(annotations)
	if !received.isPlain {
		sanitize.Object(o)
	}
	o.GetObjectKind().SetGroupVersionKind(k.gvk)
	return true
}

// stripPod keeps what [velero.ReadPodState], [velero.Server], [velero.NodeAgent], [velero.Mover] and
// [velero.MaintenancePod] read, and reports whether the pod is one of Velero's.
func stripPod(o client.Object) bool {
	p := o.(*corev1.Pod)
	if _, moves := velero.VolumeMovedBy(p); !moves && !velero.IsServer(p) && !velero.IsNodeAgent(p) &&
		!velero.IsMaintenance(p) {
		return false
	}
	p.Spec = corev1.PodSpec{
		NodeName:                      p.Spec.NodeName,
		ServiceAccountName:            p.Spec.ServiceAccountName,
		TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
		Containers:                    stripContainers(p.Spec.Containers),
	}
	p.Status = corev1.PodStatus{
		Phase:                 p.Status.Phase,
		Reason:                p.Status.Reason,
		Message:               p.Status.Message,
		StartTime:             p.Status.StartTime,
		Conditions:            p.Status.Conditions,
		InitContainerStatuses: p.Status.InitContainerStatuses,
		ContainerStatuses:     p.Status.ContainerStatuses,
	}
	p.Annotations = nil
	return true
}

func stripContainers(full []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(full))
	for i, c := range full {
		kept[i] = corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args}
		if memory, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
			kept[i].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: memory}
		}
		for _, e := range c.Env {
			if e.Name == velero.TimeZoneVariable {
				kept[i].Env = append(kept[i].Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
			}
		}
	}
	return kept
}

// stripDownload drops the signed URL, with which anyone could read the stored files.
func stripDownload(o client.Object) bool {
	o.(*veleroapi.DownloadRequest).Status.DownloadURL = ""
	return true
}

// MalformedObject is a resource whose fields Velero's types cannot hold; they are empty in the snapshot.
type MalformedObject struct {
	Resource  string // the plural with its group, such as [Schedules]
	Kind      string
	Namespace string
	Name      string
	UID       types.UID
	Fields    []decode.MalformedField // never empty
}

// Ref names the resource as KIND/NAME, in lower case.
func (m MalformedObject) Ref() string { return strings.ToLower(m.Kind) + "/" + m.Name }

func compareMalformed(a, b MalformedObject) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
