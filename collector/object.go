package collector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// wantedFacts tells which facts are read from a kind's objects. Labels are read from all.
type wantedFacts uint8

const (
	wantLabels wantedFacts = iota
	wantStatus             // a custom resource
	wantPod
	wantJob
	wantClaim
	wantCRD
	wantSnapshot
	wantContent
	wantSnapshotClass
	wantVolume // from here on, objects are read only for what they need
	wantService
	wantWebhooks
	wantStorageClass
	wantRules
	wantWorkload // what makes pods of a template
	wantCronJob
)

func (w wantedFacts) decidesRestore() bool { return wantPod <= w && w <= wantSnapshotClass }

// These are the directories of the kinds that Velero's rules name (pkg/kuberesource/kuberesource.go).
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
	dirQuotas          = "resourcequotas"
	dirLimitRanges     = "limitranges"
)

// factsByKind maps the kinds from which more than labels is read to the facts to read.
var factsByKind = map[string]wantedFacts{
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
	dirQuotas:          wantRules,
	dirLimitRanges:     wantRules,

	"deployments.apps":       wantWorkload,
	"statefulsets.apps":      wantWorkload,
	"daemonsets.apps":        wantWorkload,
	"replicasets.apps":       wantWorkload,
	"replicationcontrollers": wantWorkload,
	"cronjobs.batch":         wantCronJob,

	"validatingadmissionpolicies.admissionregistration.k8s.io":       wantRules,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": wantRules,
	"mutatingadmissionpolicies.admissionregistration.k8s.io":         wantRules,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   wantRules,
}

// These are the annotations that Velero's actions follow (pkg/apis/velero/v1/labels_annotations.go and the CSI
// actions in pkg/restore/actions/csi).
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

// parsedObject holds what was read from one body. Its slices are part of the body.
type parsedObject struct {
	hasKind     bool
	labels      [][2][]byte
	badLabels   bool // true if a label is not a string: Velero then sees no labels at all
	annotations [][2][]byte

	phase          []byte   // the phase of a pod or claim
	completionTime []byte   // a job's completionTime
	badStatus      bool     // true if the phase or time is present but not a string
	claims         [][]byte // the claims of a pod's volumes
	priorityClass  []byte
	volumeName     []byte // volumeName of a claim
	content        []byte // the content of a snapshot

	definedResource Resource // the resource that a CRD defines
	hasStatus       bool

	isCleanedUp         bool   // a job with a TTL, or of a CronJob
	withNeeds           bool   // true if needs are read, too
	spec, managedFields []byte // the spec and a Service's managed fields, verbatim from the body
	needs               []Need
	pruner              jsonScanner
	pruned              []byte            // the output of pruner
	volumes             []json.RawMessage // a pod's volumes that Pod Security may refuse
	pod                 podSpec
}

func (o *parsedObject) resetFields() {
	*o = parsedObject{
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

// findAnnotation returns the value of an annotation, nil if there is none.
func (o *parsedObject) findAnnotation(name string) []byte {
	for _, a := range slices.Backward(o.annotations) {
		if string(a[0]) == name {
			return a[1]
		}
	}
	return nil
}

// maxParts bounds the labels, annotations and volumes of one object.
const maxParts = 10_000

func (s *jsonScanner) limitParts(n int) {
	if n > maxParts {
		s.setError(errTooManyParts)
	}
}

// parseBody fills o from body. Any error but errTooManyParts means that Velero cannot decode the body either. As in
// encoding/json, the last of several equal keys counts.
func (o *parsedObject) parseBody(s *jsonScanner, body []byte, want wantedFacts) error {
	o.resetFields()
	s.resetInput(body)
	isObject := s.eachMember(func(key []byte) {
		switch string(key) {
		case "kind":
			kind, ok := s.readString()
			o.hasKind = ok && len(kind) > 0
		case "metadata":
			o.readMetadata(s, want)
		case "spec":
			s.peekByte()
			start := s.i
			o.readSpec(s, want)
			o.spec = body[start:s.i]
		case "status":
			o.hasStatus = true
			o.readStatus(s, want)
		default:
			s.skipValue()
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
		if err := o.readDefinition(); err != nil {
			return err
		}
	}
	if o.withNeeds && !o.hasCompleted(want) { // an object that is not restored needs nothing
		o.readNeeds(body, want)
	}
	return nil
}

func (o *parsedObject) readMetadata(s *jsonScanner, want wantedFacts) {
	o.labels, o.badLabels, o.annotations = o.labels[:0], false, o.annotations[:0]
	s.eachMember(func(key []byte) {
		switch {
		case string(key) == "labels":
			o.labels, o.badLabels = s.appendPairs(o.labels[:0])
		case string(key) == "annotations" && want >= wantPod:
			o.annotations, _ = s.appendPairs(o.annotations[:0])
		case string(key) == "ownerReferences" && want == wantJob:
			s.eachElement(func() { o.isCleanedUp = string(o.readMember(s, "kind")) == "CronJob" || o.isCleanedUp })
		case string(key) == "managedFields" && want == wantService && o.withNeeds:
			s.peekByte()
			start := s.i
			s.skipValue()
			o.managedFields = s.b[start:s.i]
		default:
			s.skipValue()
		}
	})
}

// appendPairs appends the members of the next object. bad reports whether some value is not a string.
func (s *jsonScanner) appendPairs(all [][2][]byte) (_ [][2][]byte, bad bool) {
	s.eachMember(func(key []byte) {
		value, ok := s.readString()
		bad = bad || !ok
		all = append(all, [2][]byte{key, value})
		s.limitParts(len(all))
	})
	return all, bad
}

func (o *parsedObject) readSpec(s *jsonScanner, want wantedFacts) {
	switch want {
	case wantPod:
		o.claims, o.volumes, o.priorityClass = o.claims[:0], o.volumes[:0], nil
		o.pruned = append(o.pruned[:0], '{')
		s.eachMember(func(key []byte) {
			switch {
			case string(key) == "volumes":
				s.eachElement(func() { o.readPodVolume(s) })
			case string(key) == "priorityClassName":
				o.priorityClass, _ = s.readString()
			case o.withNeeds:
				o.pruned = s.pruneMember(o.pruned, key, podFields)
			default:
				s.skipValue()
			}
		})
		o.pruned = append(o.pruned, '}')
	case wantClaim:
		o.volumeName = o.readMember(s, "volumeName")
	case wantJob: // pkg/controller/ttlafterfinished/ttlafterfinished_controller.go
		s.eachMember(func(key []byte) {
			if string(key) == "ttlSecondsAfterFinished" {
				o.isCleanedUp = o.isCleanedUp || s.peekByte() != 'n'
			}
			s.skipValue()
		})
	default:
		s.skipValue()
	}
}

func (o *parsedObject) readPodVolume(s *jsonScanner) {
	s.peekByte()
	start, allowed := s.i, true
	s.eachMember(func(key []byte) {
		allowed = allowed && allowedVolumeFields[string(key)]
		if string(key) != "persistentVolumeClaim" {
			s.skipValue()
			return
		}
		if claim := o.readMember(s, "claimName"); len(claim) > 0 {
			o.claims = append(o.claims, claim)
			s.limitParts(len(o.claims))
		}
	})
	if !allowed && len(o.volumes) < maxNeeds {
		o.volumes = append(o.volumes, s.b[start:s.i])
	}
}

// readDefinition reads the resource that discovery will return for a CRD once it is restored.
func (o *parsedObject) readDefinition() error {
	var spec struct {
		Group, Scope string
		Names        struct {
			Plural, Singular, Kind string
			ShortNames             []string
		}
	}
	if !o.decodeFields(o.spec, definitionFields, &spec) {
		return errTooManyParts
	}
	n := spec.Names
	o.definedResource = Resource{
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

func (o *parsedObject) readStatus(s *jsonScanner, want wantedFacts) {
	switch want {
	case wantPod, wantClaim:
		o.phase, o.badStatus = o.readStrictMember(s, "phase")
	case wantJob:
		o.completionTime, o.badStatus = o.readStrictMember(s, "completionTime")
	case wantSnapshot:
		o.content = o.readMember(s, "boundVolumeSnapshotContentName")
	default:
		s.skipValue()
	}
}

// hasCompleted reports whether a restore leaves the object out because it has completed, or because its status cannot
// be read (pkg/restore/restore.go, isCompleted).
func (o *parsedObject) hasCompleted(want wantedFacts) bool {
	switch want {
	case wantPod:
		return o.badStatus || string(o.phase) == "Succeeded" || string(o.phase) == "Failed"
	case wantJob:
		return o.badStatus || len(o.completionTime) > 0
	default:
		return false
	}
}

// readMember returns the string member with that name of the next object.
func (o *parsedObject) readMember(s *jsonScanner, name string) []byte {
	value, _ := o.readStrictMember(s, name)
	return value
}

// readStrictMember is readMember; bad reports whether a value of another type is in its place.
func (o *parsedObject) readStrictMember(s *jsonScanner, name string) (value []byte, bad bool) {
	null := s.peekByte() == 'n'
	isObject := s.eachMember(func(key []byte) {
		if string(key) != name {
			s.skipValue()
			return
		}
		var ok bool
		value, ok = s.readString()
		bad = !ok
	})
	return value, bad || !isObject && !null
}
