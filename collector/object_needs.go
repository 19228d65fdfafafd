package collector

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxNeeds is how many webhooks or ports of one object are looked at. A Service
// has hardly ever more than ten.
const maxNeeds = 1000

// rawNeed is a Need whose name is part of the body.
type rawNeed struct {
	kind   NeedKind
	name   []byte
	amount int64
}

// rawNeeds is what is collected of one body until all of it was seen.
type rawNeeds struct {
	class, annotatedClass []byte
	hasClass              bool
	storage               int64
	moved                 bool // a data mover has the data

	driver, snapshotClass, reclaim []byte

	serviceType, traffic []byte
	ports                []rawPort
	healthPort           int64
	lastApplied          []byte
	managedPorts         [][]byte // the keys of ports whose nodePort a manager set
	managedHealth        bool

	webhooks []rawNeed

	pod podNeeds
}

func (r *rawNeeds) reset() rawNeeds {
	return rawNeeds{ports: r.ports[:0], managedPorts: r.managedPorts[:0], webhooks: r.webhooks[:0], pod: r.pod.reset()}
}

// rawPort is a port of a Service.
type rawPort struct {
	name, protocol []byte
	port, nodePort int64
}

// readTop reads what kinds without a spec need.
func (o *object) readTop(s *scanner, key string, want wants) {
	switch {
	case !o.withNeeds:
		s.skip()
	case want == wantSnapshotClass && key == "driver", want == wantStorageClass && key == "provisioner":
		o.raw.driver, _ = s.text()
	case want == wantWebhooks && key == "webhooks":
		o.raw.webhooks = o.raw.webhooks[:0]
		s.array(func() { o.readWebhook(s) })
	default:
		s.skip()
	}
}

func (o *object) readWebhook(s *scanner) {
	fails := int64(1) // the default of admissionregistration.k8s.io/v1
	var namespace, name []byte
	s.object(func(key []byte) {
		switch string(key) {
		case "failurePolicy":
			if policy, ok := s.text(); ok && string(policy) == "Ignore" {
				fails = 0
			}
		case "clientConfig":
			s.object(func(key []byte) {
				if string(key) != "service" {
					s.skip()
					return
				}
				s.object(func(key []byte) {
					switch string(key) {
					case "namespace":
						namespace, _ = s.text()
					case "name":
						name, _ = s.text()
					default:
						s.skip()
					}
				})
			})
		default:
			s.skip()
		}
	})
	if len(name) > 0 && len(o.raw.webhooks) < maxNeeds {
		o.raw.webhooks = append(o.raw.webhooks, rawNeed{NeedWebhookService, fmt.Appendf(nil, "%s/%s", namespace, name), fails})
	}
}

func (o *object) readClaimSpec(s *scanner) {
	o.volume = nil
	s.object(func(key []byte) {
		switch name := string(key); {
		case name == "volumeName":
			o.volume, _ = s.text()
		case name == "storageClassName" && o.withNeeds:
			o.raw.class, o.raw.hasClass = s.text()
		case name == "resources" && o.withNeeds:
			s.object(func(key []byte) {
				if string(key) != "requests" {
					s.skip()
					return
				}
				o.raw.storage, _ = quantity(o.member(s, "storage"), false)
			})
		default:
			s.skip()
		}
	})
}

// readNeedfulSpec reads the spec of the kinds that only need something.
func (o *object) readNeedfulSpec(s *scanner, want wants) {
	if !o.withNeeds {
		s.skip()
		return
	}
	switch want {
	case wantService:
		o.readServiceSpec(s)
	case wantVolume, wantSnapshot, wantContent:
		s.object(func(key []byte) {
			switch name := string(key); {
			case name == "volumeSnapshotClassName":
				o.raw.snapshotClass, _ = s.text()
			case name == "driver" && want == wantContent:
				o.raw.driver, _ = s.text()
			case name == "csi" && want == wantVolume:
				o.raw.driver = o.member(s, "driver")
			case name == "persistentVolumeReclaimPolicy":
				o.raw.reclaim, _ = s.text()
			default:
				s.skip()
			}
		})
	default:
		s.skip()
	}
}

func (o *object) readServiceSpec(s *scanner) {
	o.raw.ports = o.raw.ports[:0]
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			o.raw.serviceType, _ = s.text()
		case "externalTrafficPolicy":
			o.raw.traffic, _ = s.text()
		case "healthCheckNodePort":
			o.raw.healthPort = s.whole()
		case "ports":
			s.array(func() {
				var p rawPort
				s.object(func(key []byte) {
					switch string(key) {
					case "name":
						p.name, _ = s.text()
					case "protocol":
						p.protocol, _ = s.text()
					case "port":
						p.port = s.whole()
					case "nodePort":
						p.nodePort = s.whole()
					default:
						s.skip()
					}
				})
				if len(o.raw.ports) < maxNeeds {
					o.raw.ports = append(o.raw.ports, p)
				}
			})
		default:
			s.skip()
		}
	})
}

// readManaged finds the node ports that somebody set by a server-side apply.
func (o *object) readManaged(s *scanner) {
	s.array(func() {
		o.member2(s, "fieldsV1", "f:spec", func(key []byte) {
			switch string(key) {
			case "f:healthCheckNodePort":
				o.raw.managedHealth = true
				s.skip()
			case "f:ports":
				s.object(func(port []byte) {
					s.object(func(key []byte) {
						if string(key) == "f:nodePort" && len(o.raw.managedPorts) < maxNeeds {
							o.raw.managedPorts = append(o.raw.managedPorts, port)
						}
						s.skip()
					})
				})
			default:
				s.skip()
			}
		})
	})
}

// member2 visits the members of an object within an object within the one at hand.
func (o *object) member2(s *scanner, outer, inner string, visit func(key []byte)) {
	s.object(func(key []byte) {
		if string(key) != outer {
			s.skip()
			return
		}
		s.object(func(key []byte) {
			if string(key) != inner {
				s.skip()
				return
			}
			s.object(visit)
		})
	})
}

// putNeeds makes needs of what was read.
func (o *object) putNeeds(want wants) {
	if !o.withNeeds {
		return
	}
	r := &o.raw
	name := func(kind NeedKind, name []byte) {
		if len(name) > 0 {
			o.needs = append(o.needs, rawNeed{kind: kind, name: name})
		}
	}
	switch want {
	case wantPod:
		o.putPod()
	case wantClaim:
		switch {
		case len(r.annotatedClass) > 0:
			name(NeedStorageClass, r.annotatedClass)
		case r.hasClass:
			name(NeedStorageClass, r.class)
		default:
			o.needs = append(o.needs, rawNeed{kind: NeedDefaultClass})
		}
		name(NeedVolume, o.volume)
		if r.moved || len(o.snapshot) > 0 {
			o.needs = append(o.needs, rawNeed{kind: NeedCSIData})
		}
		if r.storage > 0 {
			o.needs = append(o.needs, rawNeed{kind: NeedStorage, amount: r.storage})
		}
	case wantVolume:
		name(NeedDriver, r.driver)
		if string(r.reclaim) != "Delete" {
			o.needs = append(o.needs, rawNeed{kind: NeedRetained})
		}
	case wantSnapshot, wantContent, wantSnapshotClass, wantStorageClass:
		name(NeedSnapshotClass, r.snapshotClass)
		name(NeedDriver, r.driver)
	case wantWebhooks:
		o.needs = append(o.needs, r.webhooks...)
	case wantService:
		o.putService()
	case wantNamespace:
		o.putNamespace()
	}
}

// The labels of a namespace by which Kubernetes refuses pods
// (k8s.io/pod-security-admission/api/constants.go).
const (
	EnforceLabel        = "pod-security.kubernetes.io/enforce"
	EnforceVersionLabel = "pod-security.kubernetes.io/enforce-version"
)

// putNamespace notes what a namespace enforces.
func (o *object) putNamespace() {
	if o.badLabels {
		return
	}
	for _, label := range o.labels {
		switch string(label[0]) {
		case EnforceLabel:
			o.needs = append(o.needs, rawNeed{kind: NeedEnforcedLevel, name: label[1]})
		case EnforceVersionLabel:
			o.needs = append(o.needs, rawNeed{kind: NeedEnforcedVersion, name: label[1]})
		}
	}
}

// putService tells node ports that Velero keeps from those that it drops
// (pkg/restore/actions/service_action.go).
func (o *object) putService() {
	r := &o.raw
	kind := r.serviceType
	if len(kind) == 0 {
		kind = []byte(corev1.ServiceTypeClusterIP)
	}
	o.needs = append(o.needs, rawNeed{kind: NeedServiceType, name: kind})
	applied := parseApplied(r.lastApplied)
	for _, p := range r.ports {
		if p.nodePort <= 0 || p.nodePort > 65535 {
			continue
		}
		port := rawNeed{kind: NeedNodePort, amount: p.nodePort}
		if string(kind) == string(corev1.ServiceTypeExternalName) || r.chosen(p, applied) {
			port.kind = NeedKeptNodePort
		}
		o.needs = append(o.needs, port)
	}
	if r.healthPort > 0 && r.healthPort <= 65535 {
		port := rawNeed{kind: NeedNodePort, amount: r.healthPort}
		local := string(r.traffic) == string(corev1.ServiceExternalTrafficPolicyTypeLocal) && string(kind) == string(corev1.ServiceTypeLoadBalancer)
		if !local || r.managedHealth || applied != nil && applied.Spec.HealthCheckNodePort != 0 {
			port.kind = NeedKeptNodePort
		}
		o.needs = append(o.needs, port)
	}
}

// chosen says whether the Service's author chose a node port. With a
// last-applied configuration Velero looks nowhere else.
func (r *rawNeeds) chosen(p rawPort, applied *appliedService) bool {
	if applied == nil {
		key := fmt.Appendf(nil, `k:{"port":%d,"protocol":"%s"}`, p.port, p.protocol)
		for _, managed := range r.managedPorts {
			if string(managed) == string(key) {
				return true
			}
		}
		return false
	}
	for _, a := range applied.Spec.Ports {
		number := a.number()
		switch {
		case number <= 0:
		case len(p.name) > 0 && a.Name != nil && *a.Name == string(p.name), len(p.name) == 0 && a.Name == nil && number == p.nodePort:
			return true
		}
	}
	return false
}

// appliedService is what `kubectl apply` notes of a Service.
type appliedService struct {
	Spec struct {
		HealthCheckNodePort float64       `json:"healthCheckNodePort"`
		Ports               []appliedPort `json:"ports"`
	} `json:"spec"`
}

type appliedPort struct {
	Name     *string         `json:"name"`
	NodePort json.RawMessage `json:"nodePort"`
}

func (p appliedPort) number() int64 {
	var n json.Number
	if json.Unmarshal(p.NodePort, &n) != nil {
		return 0
	}
	whole, err := n.Int64()
	if err != nil {
		return 0
	}
	return whole
}

func parseApplied(text []byte) *appliedService {
	if text == nil {
		return nil
	}
	applied := &appliedService{}
	_ = json.Unmarshal(text, applied) // Velero fails such a Service; nothing is kept of it then
	return applied
}

// maxQuantity is longer than any quantity that somebody means.
const maxQuantity = 32

// quantity parses an amount as Kubernetes does. It refuses what is none, and
// exponents that would take long to work out.
func quantity(text []byte, thousandths bool) (amount int64, ok bool) {
	if len(text) == 0 || len(text) > maxQuantity {
		return 0, false
	}
	if amount, ok := plainQuantity(text, thousandths); ok {
		return amount, true
	}
	if i := strings.IndexAny(string(text), "eE"); i >= 0 && len(text)-i > 4 {
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

// plainQuantity reads what nearly all quantities look like, such as 250m, 2 or
// 512Mi, without making anything.
func plainQuantity(text []byte, thousandths bool) (amount int64, ok bool) {
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		amount = 10*amount + int64(text[digits]-'0')
		if digits++; digits > 6 {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	switch suffix := string(text[digits:]); {
	case thousandths && suffix == "m":
		return amount, true
	case thousandths && suffix == "":
		return 1000 * amount, true
	case thousandths:
		return 0, false
	case suffix == "":
		return amount, true
	case suffix == "Ki":
		return amount << 10, true
	case suffix == "Mi":
		return amount << 20, true
	case suffix == "Gi":
		return amount << 30, true
	}
	return 0, false
}

// maxAmount keeps sums of amounts within their numbers.
const maxAmount = 1 << 60
