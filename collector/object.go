package collector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// wants says which facts of a kind's objects decide what is restored. Labels are wanted of all.
type wants uint8

const (
	wantLabels wants = iota
	wantPod
	wantJob
	wantClaim
	wantCRD
	wantSnapshot
	wantContent
	wantSnapshotClass
	wantVolume // What follows is looked at only for what it needs
	wantService
	wantWebhooks
	wantStorageClass
	wantNamespace
)

func (w wants) decides() bool { return wantPod <= w && w <= wantSnapshotClass }

// Directories of the kinds that Velero's rules know by name (pkg/kuberesource/kuberesource.go).
const (
	dirCRDs            = "customresourcedefinitions.apiextensions.k8s.io"
	dirNamespaces      = "namespaces"
	dirPods            = "pods"
	dirJobs            = "jobs.batch"
	dirClaims          = "persistentvolumeclaims"
	dirVolumes         = "persistentvolumes"
	dirSecrets         = "secrets"
	dirPriorityClasses = "priorityclasses.scheduling.k8s.io"
	dirSnapshots       = "volumesnapshots.snapshot.storage.k8s.io"
	dirContents        = "volumesnapshotcontents.snapshot.storage.k8s.io"
	dirSnapshotClasses = "volumesnapshotclasses.snapshot.storage.k8s.io"
	dirDataUploads     = "datauploads.velero.io"
	dirServices        = "services"
	dirStorageClasses  = "storageclasses.storage.k8s.io"
	dirValidating      = "validatingwebhookconfigurations.admissionregistration.k8s.io"
	dirMutating        = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// kindWants are the wants of the kinds that have any but labels.
var kindWants = map[string]wants{
	dirPods:            wantPod,
	dirJobs:            wantJob,
	dirClaims:          wantClaim,
	dirCRDs:            wantCRD,
	dirSnapshots:       wantSnapshot,
	dirContents:        wantContent,
	dirSnapshotClasses: wantSnapshotClass,
	dirVolumes:         wantVolume,
	dirServices:        wantService,
	dirValidating:      wantWebhooks,
	dirMutating:        wantWebhooks,
	dirStorageClasses:  wantStorageClass,
	dirNamespaces:      wantNamespace,
}

// Annotations that Velero's actions follow (pkg/apis/velero/v1/labels_annotations.go
// and the CSI actions in pkg/restore/actions/csi).
const (
	annMirrorPod      = "kubernetes.io/config.mirror"
	annClaimSnapshot  = "velero.io/volume-snapshot-name"
	annDataUpload     = "velero.io/data-upload-name"
	annDeleteSecret   = "csi.storage.k8s.io/snapshotter-secret-name"
	annDeleteSecretNS = "csi.storage.k8s.io/snapshotter-secret-namespace"
	annListSecret     = "csi.storage.k8s.io/snapshotter-list-secret-name"
	annStorageClass   = "volume.beta.kubernetes.io/storage-class"
	annLastApplied    = "kubectl.kubernetes.io/last-applied-configuration"
	annListSecretNS   = "csi.storage.k8s.io/snapshotter-list-secret-namespace"
)

// object is what one body says. Its slices are part of the body.
type object struct {
	hasKind     bool
	labels      [][2][]byte
	badLabels   bool // a label that is no string: Velero then sees no labels at all
	annotations [][2][]byte

	phase     []byte   // of pods and claims
	finished  []byte   // a job's completionTime
	badStatus bool     // the phase or time is there and is no string
	claims    [][]byte // of a pod's volumes
	priority  []byte
	volume    []byte // volumeName of a claim
	content   []byte // of a snapshot

	defined Resource // by a CRD

	withNeeds     bool   // needs are wanted too
	spec, managed []byte // the spec, and the managed fields of a Service, as they stand in the body
	needs         []Need
	pruner        scanner
	pruned        []byte            // what it read
	volumes       []json.RawMessage // of a pod, that Pod Security may refuse
	pod           podSpec
}

func (o *object) reset() {
	*o = object{
		labels:      o.labels[:0],
		annotations: o.annotations[:0],
		claims:      o.claims[:0],
		withNeeds:   o.withNeeds,
		needs:       o.needs[:0],
		pruner:      o.pruner,
		pruned:      o.pruned[:0],
		volumes:     o.volumes[:0],
		pod:         o.pod,
	}
}

// annotation is the value of an annotation, nil if there is none.
func (o *object) annotation(name string) []byte {
	for _, a := range slices.Backward(o.annotations) {
		if string(a[0]) == name {
			return a[1]
		}
	}
	return nil
}

// maxParts bounds the labels, annotations and volumes of one object.
const maxParts = 10_000

func (s *scanner) atMost(n int) {
	if n > maxParts {
		s.fail(errTooManyParts)
	}
}

// read fills o from body. But for errTooManyParts, an error means that Velero cannot decode it
// either. As in encoding/json the last of several equal keys counts.
func (o *object) read(s *scanner, body []byte, want wants) error {
	o.reset()
	s.reset(body)
	isObject := s.object(func(key []byte) {
		switch string(key) {
		case "kind":
			kind, ok := s.text()
			o.hasKind = ok && len(kind) > 0
		case "metadata":
			o.readMetadata(s, want)
		case "spec":
			s.peek()
			start := s.i
			o.readSpec(s, want)
			o.spec = body[start:s.i]
		case "status":
			o.readStatus(s, want)
		default:
			s.skip()
		}
	})
	switch {
	case s.err != nil:
		return s.err
	case !isObject:
		return errJSONSyntax
	case len(bytes.TrimRight(s.b[s.i:], " \t\r\n")) > 0:
		return errJSONSyntax
	case !o.hasKind:
		return errNoKind
	}
	if want == wantCRD {
		return o.readDefinition()
	}
	if o.withNeeds && !o.completed(want) { // what is not restored needs nothing
		o.readNeeds(body, want)
	}
	return nil
}

func (o *object) readMetadata(s *scanner, want wants) {
	o.labels, o.badLabels, o.annotations = o.labels[:0], false, o.annotations[:0]
	s.object(func(key []byte) {
		switch {
		case string(key) == "labels":
			o.labels, o.badLabels = s.pairs(o.labels[:0])
		case string(key) == "annotations" && want >= wantPod:
			o.annotations, _ = s.pairs(o.annotations[:0])
		case string(key) == "managedFields" && want == wantService && o.withNeeds:
			s.peek()
			start := s.i
			s.skip()
			o.managed = s.b[start:s.i]
		default:
			s.skip()
		}
	})
}

// pairs appends the members of the object at hand, and says whether some value is no string.
func (s *scanner) pairs(all [][2][]byte) (_ [][2][]byte, bad bool) {
	s.object(func(key []byte) {
		value, ok := s.text()
		bad = bad || !ok
		all = append(all, [2][]byte{key, value})
		s.atMost(len(all))
	})
	return all, bad
}

func (o *object) readSpec(s *scanner, want wants) {
	switch want {
	case wantPod:
		o.claims, o.volumes, o.priority = o.claims[:0], o.volumes[:0], nil
		o.pruned = append(o.pruned[:0], '{')
		s.object(func(key []byte) {
			switch {
			case string(key) == "volumes":
				s.array(func() { o.readPodVolume(s) })
			case string(key) == "priorityClassName":
				o.priority, _ = s.text()
			case o.withNeeds:
				o.pruned = s.pruneMember(o.pruned, key, podFields)
			default:
				s.skip()
			}
		})
		o.pruned = append(o.pruned, '}')
	case wantClaim:
		o.volume = o.member(s, "volumeName")
	default:
		s.skip()
	}
}

func (o *object) readPodVolume(s *scanner) {
	s.peek()
	start, allowed := s.i, true
	s.object(func(key []byte) {
		allowed = allowed && allowedVolumes[string(key)]
		if string(key) != "persistentVolumeClaim" {
			s.skip()
			return
		}
		if claim := o.member(s, "claimName"); len(claim) > 0 {
			o.claims = append(o.claims, claim)
			s.atMost(len(o.claims))
		}
	})
	if !allowed && len(o.volumes) < maxNeeds {
		o.volumes = append(o.volumes, s.b[start:s.i])
	}
}

// readDefinition reads what discovery will say of a CRD once it is there.
func (o *object) readDefinition() error {
	var spec struct {
		Group, Scope string
		Names        struct {
			Plural, Singular, Kind string
			ShortNames             []string
		}
	}
	if !o.decode(o.spec, definitionFields, &spec) {
		return errTooManyParts
	}
	n := spec.Names
	o.defined = Resource{
		Group:    spec.Group,
		Name:     n.Plural,
		Singular: cmp.Or(n.Singular, strings.ToLower(n.Kind)),
		Kind:     n.Kind,
		ShortNames: slices.DeleteFunc(
			n.ShortNames,
			func(name string) bool { return name == "" },
		),
		Namespaced: spec.Scope != "Cluster",
	}
	return nil
}

func (o *object) readStatus(s *scanner, want wants) {
	switch want {
	case wantPod, wantClaim:
		o.phase, o.badStatus = o.strictMember(s, "phase")
	case wantJob:
		o.finished, o.badStatus = o.strictMember(s, "completionTime")
	case wantSnapshot:
		o.content = o.member(s, "boundVolumeSnapshotContentName")
	default:
		s.skip()
	}
}

// completed says whether a restore leaves the object out because it has run to its end, or because
// its status cannot be read (pkg/restore/restore.go, isCompleted).
func (o *object) completed(want wants) bool {
	switch want {
	case wantPod:
		return o.badStatus || string(o.phase) == "Succeeded" || string(o.phase) == "Failed"
	case wantJob:
		return o.badStatus || len(o.finished) > 0
	default:
		return false
	}
}

// member returns the string of that name of the object at hand.
func (o *object) member(s *scanner, name string) []byte {
	value, _ := o.strictMember(s, name)
	return value
}

// strictMember also says whether there is something else in its place.
func (o *object) strictMember(s *scanner, name string) (value []byte, bad bool) {
	null := s.peek() == 'n'
	isObject := s.object(func(key []byte) {
		if string(key) != name {
			s.skip()
			return
		}
		var ok bool
		value, ok = s.text()
		bad = !ok
	})
	return value, bad || !isObject && !null
}
