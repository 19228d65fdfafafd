package collector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxNeeds is how many webhooks, ports or containers of one object are looked at.
	maxNeeds = 1000
	// maxNeedsBody bounds what is read of an object, in bytes: what etcd takes by default.
	maxNeedsBody = 3 << 19
	// maxSecurity bounds what Pod Security looks at of a pod, in bytes; beyond it, it is left out.
	maxSecurity = 16 << 10
)

// The labels of a namespace by which Kubernetes refuses pods (k8s.io/pod-security-admission/api/constants.go).
const (
	EnforceLabel        = "pod-security.kubernetes.io/enforce"
	EnforceVersionLabel = "pod-security.kubernetes.io/enforce-version"
)

// What is read of objects, and of pods' containers. Of many it is a small part, and
// encoding/json is too slow for all of a backup.
var (
	podFields = fields{
		"hostNetwork":           nil,
		"hostPID":               nil,
		"hostIPC":               nil,
		"hostUsers":             nil,
		"os":                    nil,
		"securityContext":       nil,
		"containers":            containerFields,
		"initContainers":        containerFields,
		"resources":             nil,
		"overhead":              nil,
		"activeDeadlineSeconds": nil,
	}
	containerFields = fields{
		"name":            nil,
		"securityContext": nil,
		"ports":           nil,
		"livenessProbe":   nil,
		"readinessProbe":  nil,
		"startupProbe":    nil,
		"lifecycle":       nil,
		"restartPolicy":   nil,
		"resources":       nil,
	}
	definitionFields = fields{
		"group": nil,
		"scope": nil,
		"names": {"plural": nil, "singular": nil, "kind": nil, "shortNames": nil},
	}
	claimFields   = fields{"storageClassName": nil, "resources": nil}
	serviceFields = fields{"type": nil, "externalTrafficPolicy": nil, "healthCheckNodePort": nil, "ports": nil}
	managedFields = fields{"fieldsV1": {"f:spec": {"f:healthCheckNodePort": nil, "f:ports": nil}}}
	volumeFields  = fields{
		"volumeSnapshotClassName":       nil,
		"driver":                        nil,
		"persistentVolumeReclaimPolicy": nil,
		"csi":                           {"driver": nil},
	}
	classFields = fields{"driver": nil, "provisioner": nil}
	hookFields  = fields{"webhooks": {"failurePolicy": nil, "clientConfig": {"service": nil}}}
)

// decode reads fields of JSON. One of another type than v has counts as not given. It
// reports whether they are short enough to be read.
func (o *object) decode(text []byte, wanted fields, v any) bool {
	o.pruner.reset(text)
	o.pruned = o.pruner.prune(o.pruned[:0], wanted)
	return o.decodePruned(v)
}

func (o *object) decodePruned(v any) bool {
	if len(o.pruned) > maxNeedsBody {
		return false
	}
	if len(o.pruned) > len("{}") {
		_ = json.Unmarshal(o.pruned, v)
	}
	return true
}

// need adds a need with a name, if there is a name.
func (o *object) need(kind NeedKind, name string) {
	if name != "" {
		o.needs = append(o.needs, Need{Kind: kind, Name: name})
	}
}

// readNeeds reads what an object needs, once all else of it was read.
func (o *object) readNeeds(body []byte, want wants) {
	switch {
	case want == wantNamespace && !o.badLabels:
		for _, label := range o.labels {
			switch string(label[0]) {
			case EnforceLabel:
				o.needs = append(o.needs, Need{Kind: NeedEnforcedLevel, Name: string(label[1])})
			case EnforceVersionLabel:
				o.needs = append(o.needs, Need{Kind: NeedEnforcedVersion, Name: string(label[1])})
			}
		}
	case want == wantPod:
		o.readPod()
	case want == wantClaim:
		o.readClaim()
	case want == wantService:
		o.readService()
	case want == wantVolume, want == wantSnapshot, want == wantContent:
		var spec struct {
			VolumeSnapshotClassName, Driver, PersistentVolumeReclaimPolicy string
			CSI                                                            struct{ Driver string }
		}
		o.decode(o.spec, volumeFields, &spec)
		if want == wantVolume {
			o.need(NeedDriver, spec.CSI.Driver)
			if spec.PersistentVolumeReclaimPolicy != string(corev1.PersistentVolumeReclaimDelete) {
				o.needs = append(o.needs, Need{Kind: NeedRetained})
			}
			return
		}
		o.need(NeedSnapshotClass, spec.VolumeSnapshotClassName)
		o.need(NeedDriver, spec.Driver)
	case want == wantSnapshotClass, want == wantStorageClass:
		var class struct{ Driver, Provisioner string }
		o.decode(body, classFields, &class)
		if want == wantStorageClass {
			class.Driver = class.Provisioner
		}
		o.need(NeedDriver, class.Driver)
	case want == wantWebhooks:
		o.readWebhooks(body)
	}
}

func (o *object) readWebhooks(body []byte) {
	var configuration struct {
		Webhooks []struct {
			FailurePolicy string
			ClientConfig  struct {
				Service struct{ Namespace, Name string }
			}
		}
	}
	o.decode(body, hookFields, &configuration)
	for _, w := range configuration.Webhooks {
		service, fails := w.ClientConfig.Service, int64(1) // the default of admissionregistration.k8s.io/v1
		if w.FailurePolicy == "Ignore" {
			fails = 0
		}
		if service.Name != "" && len(o.needs) < maxNeeds {
			o.needs = append(o.needs, Need{NeedWebhookService, service.Namespace + "/" + service.Name, fails})
		}
	}
}

func (o *object) readClaim() {
	var spec struct {
		StorageClassName *string
		Resources        struct {
			Requests struct{ Storage amount }
		}
	}
	if !o.decode(o.spec, claimFields, &spec) {
		return
	}
	switch old := string(o.annotation(annStorageClass)); {
	case old != "":
		o.needs = append(o.needs, Need{NeedStorageClass, old, 1})
	case spec.StorageClassName != nil:
		o.need(NeedStorageClass, *spec.StorageClassName)
	default:
		o.needs = append(o.needs, Need{Kind: NeedDefaultClass})
	}
	o.need(NeedVolume, string(o.volume))
	if o.annotation(annDataUpload) != nil || len(o.annotation(annClaimSnapshot)) > 0 {
		o.needs = append(o.needs, Need{Kind: NeedCSIData})
	}
	if n := spec.Resources.Requests.Storage.n; n > 0 {
		o.needs = append(o.needs, Need{Kind: NeedStorage, Amount: n})
	}
}

// appliedService is what `kubectl apply` notes of a Service.
type appliedService struct {
	Spec struct {
		HealthCheckNodePort float64
		Ports               []struct {
			Name     *string
			NodePort json.RawMessage // a number, or one in quotes
		}
	}
}

// managedService is what a server-side apply sets of a Service.
type managedService struct {
	FieldsV1 struct {
		Spec struct {
			Health json.RawMessage                       `json:"f:healthCheckNodePort"`
			Ports  map[string]map[string]json.RawMessage `json:"f:ports"`
		} `json:"f:spec"`
	}
}

// readService tells node ports that Velero keeps, because the Service's author chose them, from those that it
// drops. With a last-applied configuration Velero looks nowhere else (pkg/restore/actions/service_action.go).
func (o *object) readService() {
	var spec struct {
		Type                  corev1.ServiceType
		ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy
		HealthCheckNodePort   int64
		Ports                 []struct {
			Name, Protocol string
			Port, NodePort int64
		}
	}
	if o.decode(o.spec, serviceFields, &spec); spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	o.need(NeedServiceType, string(spec.Type))
	if !bytes.Contains(o.pruned, []byte("odePort")) { // then none is to be kept
		return
	}
	var applied *appliedService
	var managed []managedService
	if last := o.annotation(annLastApplied); last != nil {
		applied = &appliedService{}
		_ = json.Unmarshal(last, applied) // Velero fails a Service where that is no JSON; nothing is kept of it then
	} else if o.managed != nil {
		o.decode(o.managed, managedFields, &managed)
	}
	add := func(port int64, kept bool) {
		if port <= 0 || port > 65535 {
			return
		}
		kind := NeedNodePort
		if kept {
			kind = NeedKeptNodePort
		}
		o.needs = append(o.needs, Need{Kind: kind, Amount: port})
	}
	for _, p := range spec.Ports[:min(len(spec.Ports), maxNeeds)] {
		kept := spec.Type == corev1.ServiceTypeExternalName
		key := fmt.Sprintf(`k:{"port":%d,"protocol":"%s"}`, p.Port, p.Protocol)
		for _, m := range managed {
			kept = kept || m.FieldsV1.Spec.Ports[key]["f:nodePort"] != nil
		}
		if applied != nil {
			for _, a := range applied.Spec.Ports {
				number, _ := strconv.ParseInt(strings.Trim(string(a.NodePort), `"`), 10, 64)
				named := p.Name != "" && a.Name != nil && *a.Name == p.Name
				kept = kept || number > 0 && (named || p.Name == "" && a.Name == nil && number == p.NodePort)
			}
		}
		add(p.NodePort, kept)
	}
	local := spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal &&
		spec.Type == corev1.ServiceTypeLoadBalancer
	add(spec.HealthCheckNodePort, !local || applied != nil && applied.Spec.HealthCheckNodePort != 0 ||
		slices.ContainsFunc(managed, func(m managedService) bool { return m.FieldsV1.Spec.Health != nil }))
}

// podSpec is what a pod asks for and what Pod Security looks at, the latter as it is.
type podSpec struct {
	HostNetwork     json.RawMessage   `json:"hostNetwork,omitempty"`
	HostPID         json.RawMessage   `json:"hostPID,omitempty"`
	HostIPC         json.RawMessage   `json:"hostIPC,omitempty"`
	HostUsers       json.RawMessage   `json:"hostUsers,omitempty"`
	OS              json.RawMessage   `json:"os,omitempty"`
	SecurityContext json.RawMessage   `json:"securityContext,omitempty"`
	Volumes         []json.RawMessage `json:"volumes,omitempty"`
	Containers      []podContainer    `json:"containers,omitempty"`
	InitContainers  []podContainer    `json:"initContainers,omitempty"`
	Resources       json.RawMessage   `json:"resources,omitempty"`
	Overhead        computeList       `json:"overhead,omitzero"`
	Deadline        json.RawMessage   `json:"activeDeadlineSeconds,omitempty"`
}

type podContainer struct {
	Name            string          `json:"name,omitempty"`
	SecurityContext json.RawMessage `json:"securityContext,omitempty"`
	Ports           json.RawMessage `json:"ports,omitempty"`
	LivenessProbe   json.RawMessage `json:"livenessProbe,omitempty"`
	ReadinessProbe  json.RawMessage `json:"readinessProbe,omitempty"`
	StartupProbe    json.RawMessage `json:"startupProbe,omitempty"`
	Lifecycle       json.RawMessage `json:"lifecycle,omitempty"`
	RestartPolicy   string          `json:"restartPolicy,omitempty"`
	Resources       podResources    `json:"resources,omitzero"`
}

type podResources struct{ Requests, Limits computeList }

type computeList struct {
	CPU    cores
	Memory amount
}

// amount is a quantity. One that cannot be read counts as not given.
type amount struct {
	n     int64
	given bool
}

type cores amount // in thousandths

func (a *amount) UnmarshalJSON(text []byte) error {
	a.n, a.given = quantity(text, false)
	return nil
}

func (c *cores) UnmarshalJSON(text []byte) error {
	c.n, c.given = quantity(text, true)
	return nil
}

// allowedVolumes are the fields of volumes that Pod Security allows at every level
// (k8s.io/pod-security-admission/policy/check_restrictedVolumes.go).
var allowedVolumes = map[string]bool{
	"name":                  true,
	"configMap":             true,
	"csi":                   true,
	"downwardAPI":           true,
	"emptyDir":              true,
	"ephemeral":             true,
	"persistentVolumeClaim": true,
	"projected":             true,
	"secret":                true,
}

// Annotations that Pod Security went by before there were fields.
const (
	annAppArmor = "container.apparmor.security.beta.kubernetes.io/"
	annSeccomp  = "seccomp.security.alpha.kubernetes.io/"
)

// readPod reads what a pod and its containers ask for, and what Pod Security looks at.
func (o *object) readPod() {
	spec := &o.pod // still the pod before: its memory is used again
	clear(spec.Containers[:cap(spec.Containers)])
	clear(spec.InitContainers[:cap(spec.InitContainers)])
	*spec = podSpec{Containers: spec.Containers[:0], InitContainers: spec.InitContainers[:0]}
	if !o.decodePruned(spec) {
		o.needs = append(o.needs, Need{Kind: NeedPodSecurity})
		return
	}
	// Velero made these itself, and takes them out.
	spec.InitContainers = slices.DeleteFunc(
		spec.InitContainers,
		func(c podContainer) bool { return c.Name == "restore-wait" || c.Name == "restic-wait" },
	)
	spec.Containers, spec.InitContainers = o.readContainers(
		spec.Containers,
		false,
	), o.readContainers(
		spec.InitContainers,
		true,
	)
	var level podResources
	if len(spec.Resources) > 0 {
		_ = json.Unmarshal(spec.Resources, &level)
	}
	if level != (podResources{}) || bytes.Contains(spec.Resources, []byte(`"`+corev1.ResourceHugePagesPrefix)) {
		o.ask(NeedPodResources, level)
	}
	if spec.Overhead != (computeList{}) {
		o.ask(NeedOverhead, podResources{Requests: spec.Overhead})
	}
	o.need(NeedPriorityClass, string(o.priority))
	if len(spec.Deadline) > 0 {
		o.needs = append(o.needs, Need{Kind: NeedDeadline})
	}
	spec.Resources, spec.Overhead, spec.Deadline, spec.Volumes = nil, computeList{}, nil, o.volumes
	var pod struct {
		Metadata map[string]map[string]string `json:"metadata,omitempty"`
		Spec     *podSpec                     `json:"spec"`
	}
	pod.Spec = spec
	for _, a := range o.annotations {
		if bytes.HasPrefix(a[0], []byte(annAppArmor)) || bytes.Contains(a[0], []byte(annSeccomp)) {
			if pod.Metadata == nil {
				pod.Metadata = map[string]map[string]string{"annotations": {}}
			}
			pod.Metadata["annotations"][string(a[0])] = string(a[1])
		}
	}
	security, err := json.Marshal(pod) // Pods of one controller have the same.
	if err != nil || len(security) > maxSecurity {
		security = nil
	}
	o.needs = append(o.needs, Need{Kind: NeedPodSecurity, Name: string(security)})
}

// readContainers reads what containers ask for, and returns what Pod Security looks at.
func (o *object) readContainers(all []podContainer, init bool) []podContainer {
	all = all[:min(len(all), maxNeeds):min(cap(all), maxNeeds)]
	for i := range all {
		c := &all[i]
		switch {
		case !init:
			o.ask(NeedContainer, c.Resources)
		case c.RestartPolicy == string(corev1.ContainerRestartPolicyAlways):
			o.ask(NeedSidecar, c.Resources)
		default:
			o.ask(NeedInitContainer, c.Resources)
		}
		c.RestartPolicy, c.Resources = "", podResources{}
		if !bytes.Contains(c.Ports, []byte(`"hostPort"`)) {
			c.Ports = nil
		}
		for _, probe := range []*json.RawMessage{&c.LivenessProbe, &c.ReadinessProbe, &c.StartupProbe, &c.Lifecycle} {
			if !bytes.Contains(*probe, []byte(`"host"`)) {
				*probe = nil
			}
		}
	}
	return all
}

func (o *object) ask(kind NeedKind, r podResources) {
	o.needs = append(o.needs, Need{Kind: kind})
	for i, a := range []amount{amount(r.Requests.CPU), r.Requests.Memory, amount(r.Limits.CPU), r.Limits.Memory} {
		if a.given {
			o.needs = append(o.needs, Need{Kind: NeedCPURequest + NeedKind(i), Amount: a.n})
		}
	}
}

// plainUnits are the units of nearly all amounts, of CPU in thousandths and of bytes.
var plainUnits = map[bool]map[string]int64{true: {"m": 1, "": 1000}, false: {"": 1, "Mi": 1 << 20, "Gi": 1 << 30}}

const (
	maxQuantity = 32      // longer than any quantity that makes sense
	maxAmount   = 1 << 60 // maxAmount keeps sums of amounts within their numbers
)

// quantity parses an amount, a JSON string or number, as Kubernetes does. It refuses what
// is none, and exponents that would take long to work out.
func quantity(text []byte, thousandths bool) (amount int64, ok bool) {
	text = bytes.Trim(text, `"`)
	if len(text) == 0 || len(text) > maxQuantity {
		return 0, false
	}
	digits := len(text) - len(bytes.TrimLeft(text, "0123456789"))
	if unit := plainUnits[thousandths][string(text[digits:])]; unit > 0 {
		if n, err := strconv.ParseInt(string(text[:digits]), 10, 30); err == nil {
			return n * unit, true
		}
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 && len(text)-i > 4 {
		return 0, false
	}
	q, err := resource.ParseQuantity(string(text))
	if err != nil || q.Sign() < 0 {
		return 0, false
	}
	// Value and MilliValue overflow without a word: compare before.
	switch {
	case thousandths && q.CmpInt64(maxAmount/1000) >= 0, q.CmpInt64(maxAmount) >= 0:
		return maxAmount, true
	case thousandths:
		return q.MilliValue(), true
	}
	return q.Value(), true
}
