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
	// maxNeeds is how many webhooks, ports or containers of one object are read.
	maxNeeds = 1000
	// maxNeedsBody is the maximum size of the parts of an object that are decoded, in bytes: etcd's default limit.
	maxNeedsBody = 3 << 19
	// maxPodSecurityBytes is the maximum size of NeedPodSecurity, in bytes; longer ones are left out.
	maxPodSecurityBytes = 16 << 10
	// maxRulesBytes is the maximum size of NeedRules, in bytes; longer ones are left out.
	maxRulesBytes = 64 << 10
)

// These are the fields read from objects and from pods' containers. They are a small part of most objects, and
// encoding/json is too slow for whole objects of a backup.
var (
	podFields = fieldTree{
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
	containerFields = fieldTree{
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
	definitionFields = fieldTree{
		"group": nil,
		"scope": nil,
		"names": {"plural": nil, "singular": nil, "kind": nil, "shortNames": nil},
	}
	claimFields   = fieldTree{"storageClassName": nil, "resources": nil, "volumeMode": nil, "accessModes": nil}
	serviceFields = fieldTree{"type": nil, "externalTrafficPolicy": nil, "healthCheckNodePort": nil, "ports": nil}
	managedFields = fieldTree{"fieldsV1": {"f:spec": {"f:healthCheckNodePort": nil, "f:ports": nil}}}
	volumeFields  = fieldTree{
		"volumeSnapshotClassName":       nil,
		"driver":                        nil,
		"persistentVolumeReclaimPolicy": nil,
		"csi":                           {"driver": nil},
	}
	classFields   = fieldTree{"driver": nil, "provisioner": nil}
	webhookFields = fieldTree{"webhooks": {"failurePolicy": nil, "clientConfig": {"service": nil}}}
	// ruleFields are what NeedRules holds. A CA bundle is long, and nothing depends on it.
	ruleFields = map[wantedFacts]fieldTree{
		wantRules: {"apiVersion": nil, "kind": nil, "metadata": {"labels": nil}, "spec": nil},
		wantWebhooks: {"webhooks": {
			"name":              nil,
			"clientConfig":      {"service": nil, "url": nil},
			"rules":             nil,
			"failurePolicy":     nil,
			"matchPolicy":       nil,
			"namespaceSelector": nil,
			"objectSelector":    nil,
			"matchConditions":   {"name": nil},
		}},
		wantCRD: {"spec": {
			"group":      nil,
			"names":      {"plural": nil},
			"conversion": {"strategy": nil, "webhook": {"clientConfig": {"service": nil, "url": nil}}},
			"versions":   {"name": nil, "storage": nil},
		}},
	}
)

// readRules reads what an object decides about others.
func (o *parsedObject) readRules(body []byte, want wantedFacts) {
	o.pruner.resetInput(body)
	o.pruned = o.pruner.pruneValue(o.pruned[:0], ruleFields[want])
	switch {
	case want == wantCRD && !bytes.Contains(o.pruned, []byte(`"Webhook"`)):
		return
	case len(o.pruned) > maxRulesBytes:
		o.pruned = nil
	}
	o.needs = append(o.needs, Need{Kind: NeedRules, Name: string(o.pruned)})
	if want == wantCRD {
		o.addConversionService()
	}
}

// addConversionService adds the Service of the conversion webhook in the pruned text. Until Kubernetes needs a
// conversion, nothing is refused without the Service.
func (o *parsedObject) addConversionService() {
	var definition struct {
		Spec struct {
			Conversion struct {
				Webhook struct {
					ClientConfig struct {
						Service struct{ Namespace, Name string }
					}
				}
			}
		}
	}
	o.decodePruned(&definition)
	if s := definition.Spec.Conversion.Webhook.ClientConfig.Service; s.Name != "" {
		o.needs = append(o.needs, Need{NeedWebhookService, s.Namespace + "/" + s.Name, 0})
	}
}

// decodeFields decodes the wanted fields of a JSON text into v. A field of a type other than v's counts as missing.
// It reports whether the fields are short enough to decode.
func (o *parsedObject) decodeFields(text []byte, wanted fieldTree, v any) bool {
	o.pruner.resetInput(text)
	o.pruned = o.pruner.pruneValue(o.pruned[:0], wanted)
	return o.decodePruned(v)
}

func (o *parsedObject) decodePruned(v any) bool {
	if len(o.pruned) > maxNeedsBody {
		return false
	}
	if len(o.pruned) > len("{}") {
		_ = json.Unmarshal(o.pruned, v)
	}
	return true
}

// addNeed adds a need with a name, if there is a name.
func (o *parsedObject) addNeed(kind NeedKind, name string) {
	if name != "" {
		o.needs = append(o.needs, Need{Kind: kind, Name: name})
	}
}

// ReadNeeds returns what an object needs that is not in a backup; nil for one that cannot be read.
func ReadNeeds(resource string, body []byte) []Need {
	o := parsedObject{withNeeds: true}
	if o.parseBody(&jsonScanner{}, body, factsOfResource(resource)) != nil {
		return nil
	}
	return o.needs
}

// readNeeds reads what an object needs, once the rest of it was read.
func (o *parsedObject) readNeeds(body []byte, want wantedFacts) {
	switch {
	case want == wantStatus && o.hasStatus:
		o.needs = append(o.needs, Need{Kind: NeedStatus})
	case want == wantPod:
		o.readPod()
		o.readPodReferences()
	case want == wantWorkload, want == wantCronJob, want == wantJob:
		o.readWorkload(want)
	case want == wantClaim:
		o.readClaim()
	case want == wantService:
		o.readService()
	case want == wantVolume, want == wantSnapshot, want == wantContent:
		var spec struct {
			VolumeSnapshotClassName, Driver, PersistentVolumeReclaimPolicy string
			CSI                                                            struct{ Driver string }
		}
		o.decodeFields(o.spec, volumeFields, &spec)
		if want == wantVolume {
			o.addNeed(NeedCSIDriver, spec.CSI.Driver)
			if spec.PersistentVolumeReclaimPolicy != string(corev1.PersistentVolumeReclaimDelete) {
				o.needs = append(o.needs, Need{Kind: NeedRetainedVolume})
			}
			return
		}
		o.addNeed(NeedSnapshotClass, spec.VolumeSnapshotClassName)
		o.addNeed(NeedCSIDriver, spec.Driver)
	case want == wantSnapshotClass, want == wantStorageClass:
		var class struct{ Driver, Provisioner string }
		o.decodeFields(body, classFields, &class)
		if want == wantStorageClass {
			class.Driver = class.Provisioner
			if slices.ContainsFunc(defaultClassAnnotations, func(name string) bool {
				return string(o.findAnnotation(name)) == "true"
			}) {
				o.needs = append(o.needs, Need{Kind: NeedIsDefault})
			}
		}
		o.addNeed(NeedCSIDriver, class.Driver)
	case want == wantWebhooks:
		o.readWebhooks(body)
		o.readRules(body, want)
	case want == wantRules, want == wantCRD:
		o.readRules(body, want)
	}
}

// defaultClassAnnotations mark a storage class as the default (k8s.io/kubernetes/pkg/volume/util/storageclass.go).
var defaultClassAnnotations = []string{
	"storageclass.kubernetes.io/is-default-class",
	"storageclass.beta.kubernetes.io/is-default-class",
}

func (o *parsedObject) readWebhooks(body []byte) {
	var configuration struct {
		Webhooks []struct {
			FailurePolicy string
			ClientConfig  struct {
				Service struct{ Namespace, Name string }
			}
		}
	}
	o.decodeFields(body, webhookFields, &configuration)
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

func (o *parsedObject) readClaim() {
	var spec struct {
		StorageClassName *string
		VolumeMode       string
		AccessModes      []string
		Resources        struct {
			Requests struct{ Storage amount }
		}
	}
	if !o.decodeFields(o.spec, claimFields, &spec) {
		return
	}
	if spec.VolumeMode == string(corev1.PersistentVolumeBlock) {
		o.needs = append(o.needs, Need{Kind: NeedBlockVolume})
	}
	for _, mode := range spec.AccessModes[:min(len(spec.AccessModes), maxNeeds)] {
		o.addNeed(NeedAccessMode, mode)
	}
	switch old := string(o.findAnnotation(annStorageClass)); {
	case old != "":
		o.needs = append(o.needs, Need{NeedStorageClass, old, 1})
	case spec.StorageClassName != nil:
		o.addNeed(NeedStorageClass, *spec.StorageClassName)
	default:
		o.needs = append(o.needs, Need{Kind: NeedDefaultClass})
	}
	o.addNeed(NeedVolume, string(o.volumeName))
	if o.findAnnotation(annDataUpload) != nil || len(o.findAnnotation(annClaimSnapshot)) > 0 {
		o.needs = append(o.needs, Need{Kind: NeedCSIData})
	}
	if n := spec.Resources.Requests.Storage.n; n > 0 {
		o.needs = append(o.needs, Need{Kind: NeedStorage, Amount: n})
	}
}

// appliedService is the last-applied configuration of a Service by `kubectl apply`.
type appliedService struct {
	Spec struct {
		HealthCheckNodePort float64
		Ports               []struct {
			Name     *string
			NodePort json.RawMessage // a number, possibly in quotes
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

// readService distinguishes the node ports that Velero keeps, because the Service's author chose them, from those
// that it drops. If there is a last-applied configuration, Velero looks nowhere else
// (pkg/restore/actions/service_action.go).
func (o *parsedObject) readService() {
	var spec struct {
		Type                  corev1.ServiceType
		ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy
		HealthCheckNodePort   int64
		Ports                 []struct {
			Name, Protocol string
			Port, NodePort int64
		}
	}
	if o.decodeFields(o.spec, serviceFields, &spec); spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	o.addNeed(NeedServiceType, string(spec.Type))
	if !bytes.Contains(o.pruned, []byte("odePort")) { // no node port is to be kept
		return
	}
	var applied *appliedService
	var managed []managedService
	if last := o.findAnnotation(annLastApplied); last != nil {
		applied = &appliedService{}
		_ = json.Unmarshal(last, applied) // Velero fails a Service if this is not JSON, and keeps no port
	} else if o.managedFields != nil {
		o.decodeFields(o.managedFields, managedFields, &managed)
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

// amount is a quantity. An invalid quantity counts as missing.
type amount struct {
	n     int64
	given bool
}

type cores amount // in thousandths

func (a *amount) UnmarshalJSON(text []byte) error {
	a.n, a.given = parseQuantity(text, false)
	return nil
}

func (c *cores) UnmarshalJSON(text []byte) error {
	c.n, c.given = parseQuantity(text, true)
	return nil
}

// allowedVolumeFields are the fields of volumes that Pod Security allows at every level
// (k8s.io/pod-security-admission/policy/check_restrictedVolumes.go).
var allowedVolumeFields = map[string]bool{
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

// These are the prefixes of annotations that Pod Security checked before there were fields.
const (
	annAppArmor = "container.apparmor.security.beta.kubernetes.io/"
	annSeccomp  = "seccomp.security.alpha.kubernetes.io/"
)

// readPod reads the resource needs of a pod and its containers, and the fields that Pod Security checks.
func (o *parsedObject) readPod() {
	spec := &o.pod // still the previous pod: its memory is reused
	clear(spec.Containers[:cap(spec.Containers)])
	clear(spec.InitContainers[:cap(spec.InitContainers)])
	*spec = podSpec{Containers: spec.Containers[:0], InitContainers: spec.InitContainers[:0]}
	if !o.decodePruned(spec) {
		o.needs = append(o.needs, Need{Kind: NeedPodSecurity})
		return
	}
	// Velero added these containers itself, and removes them.
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
		o.addResourceNeeds(NeedPodResources, level)
	}
	if spec.Overhead != (computeList{}) {
		o.addResourceNeeds(NeedOverhead, podResources{Requests: spec.Overhead})
	}
	o.addNeed(NeedPriorityClass, string(o.priorityClass))
	if len(spec.Deadline) > 0 {
		o.needs = append(o.needs, Need{Kind: NeedActiveDeadline})
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
	security, err := json.Marshal(pod) // pods of one controller share it
	if err != nil || len(security) > maxPodSecurityBytes {
		security = nil
	}
	o.needs = append(o.needs, Need{Kind: NeedPodSecurity, Name: string(security)})
}

// readContainers reads the resource needs of containers, and returns the fields that Pod Security checks.
func (o *parsedObject) readContainers(all []podContainer, init bool) []podContainer {
	all = all[:min(len(all), maxNeeds):min(cap(all), maxNeeds)]
	for i := range all {
		c := &all[i]
		switch {
		case !init:
			o.addResourceNeeds(NeedContainer, c.Resources)
		case c.RestartPolicy == string(corev1.ContainerRestartPolicyAlways):
			o.addResourceNeeds(NeedSidecar, c.Resources)
		default:
			o.addResourceNeeds(NeedInitContainer, c.Resources)
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

func (o *parsedObject) addResourceNeeds(kind NeedKind, r podResources) {
	o.needs = append(o.needs, Need{Kind: kind})
	for i, a := range []amount{amount(r.Requests.CPU), r.Requests.Memory, amount(r.Limits.CPU), r.Limits.Memory} {
		if a.given {
			o.needs = append(o.needs, Need{Kind: NeedCPURequest + NeedKind(i), Amount: a.n})
		}
	}
}

// plainUnits are the units of nearly all amounts, for CPU in thousandths (true) and for bytes (false).
var plainUnits = map[bool]map[string]int64{true: {"m": 1, "": 1000}, false: {"": 1, "Mi": 1 << 20, "Gi": 1 << 30}}

const (
	maxQuantity = 32      // longer than any quantity that makes sense
	maxAmount   = 1 << 60 // keeps sums of amounts from overflowing
)

// parseQuantity parses an amount, a JSON string or number, as Kubernetes does. It rejects invalid amounts, and
// exponents that would take long to compute.
func parseQuantity(text []byte, thousandths bool) (amount int64, ok bool) {
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
	// Value and MilliValue overflow silently: compare first.
	switch {
	case thousandths && q.CmpInt64(maxAmount/1000) >= 0, q.CmpInt64(maxAmount) >= 0:
		return maxAmount, true
	case thousandths:
		return q.MilliValue(), true
	}
	return q.Value(), true
}
