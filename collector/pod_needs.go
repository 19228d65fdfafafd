package collector

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// podNeeds is what a pod asks for, and what Pod Security looks at. Its slices are
// part of the body.
type podNeeds struct {
	containers, started []container // started are init containers
	level, overhead     amounts
	hasLevel            bool        // spec.resources says something that counts
	spec                []member    // of the spec, for Pod Security
	volumes             [][]byte    // of types that Pod Security does not always allow
	annotations         [][2][]byte // of Pod Security of old

	members []member // of all containers, reused from pod to pod
	json    []byte   // what security returns, reused too
}

// member is a key of a JSON object, and its value as it stands there.
type member struct {
	key, value []byte
}

// container is one of a pod.
type container struct {
	asks    amounts
	sidecar bool // an init container that goes on running
	helper  bool // an init container that Velero takes out, because it made it
	members span // of podNeeds.members
}

// span is part of a slice.
type span struct{ from, to int }

// amounts are the CPU request, memory request, CPU limit and memory limit, and
// which of them are given.
type amounts struct {
	n     [4]int64
	given [4]bool
}

func (p podNeeds) reset() podNeeds {
	return podNeeds{containers: p.containers[:0], started: p.started[:0], spec: p.spec[:0], volumes: p.volumes[:0], annotations: p.annotations[:0],
		members: p.members[:0], json: p.json[:0]}
}

// value is the value at hand as it stands in the body.
func (s *scanner) value() []byte {
	s.peek()
	start := s.i
	if s.skip(); s.err != nil {
		return nil
	}
	return s.b[start:s.i]
}

func (o *object) readPodSpec(s *scanner, key []byte) {
	p := &o.raw.pod
	if !o.withNeeds {
		s.skip()
		return
	}
	switch string(key) {
	case "containers":
		p.containers = p.readContainers(s, p.containers[:0])
	case "initContainers":
		p.started = p.readContainers(s, p.started[:0])
	case "resources":
		p.level, p.hasLevel = readResources(s)
	case "overhead":
		p.overhead = amounts{}
		p.overhead.read(s, 0)
	case "securityContext", "hostNetwork", "hostPID", "hostIPC", "hostUsers", "os":
		if len(p.spec) < maxNeeds {
			p.spec = append(p.spec, member{key, s.value()})
		} else {
			s.skip()
		}
	default:
		s.skip()
	}
}

// lets are the volumes that Pod Security allows at every level
// (k8s.io/pod-security-admission/policy/check_restrictedVolumes.go).
var lets = map[string]bool{"name": true, "configMap": true, "csi": true, "downwardAPI": true, "emptyDir": true, "ephemeral": true,
	"persistentVolumeClaim": true, "projected": true, "secret": true}

// readPodVolume reads the claim of a pod's volume, and keeps volumes that Pod
// Security may refuse.
func (o *object) readPodVolume(s *scanner) {
	s.peek()
	start, refused := s.i, false
	s.object(func(key []byte) {
		if string(key) != "persistentVolumeClaim" {
			refused = refused || !lets[string(key)]
			s.skip()
			return
		}
		if claim := o.member(s, "claimName"); len(claim) > 0 {
			o.claims = append(o.claims, claim)
			s.atMost(len(o.claims))
		}
	})
	if refused && o.withNeeds && s.err == nil && len(o.raw.pod.volumes) < maxNeeds {
		o.raw.pod.volumes = append(o.raw.pod.volumes, s.b[start:s.i])
	}
}

// Annotations that Pod Security went by before there were fields.
const (
	annAppArmor = "container.apparmor.security.beta.kubernetes.io/"
	annSeccomp  = "seccomp.security.alpha.kubernetes.io/"
)

func (p *podNeeds) annotate(key, value []byte) {
	if (bytes.HasPrefix(key, []byte(annAppArmor)) || bytes.Contains(key, []byte(annSeccomp))) && len(p.annotations) < maxNeeds {
		p.annotations = append(p.annotations, [2][]byte{key, value})
	}
}

func (p *podNeeds) readContainers(s *scanner, all []container) []container {
	s.array(func() {
		c := p.readContainer(s)
		if len(all) < maxNeeds {
			all = append(all, c)
		}
	})
	return all
}

func (p *podNeeds) readContainer(s *scanner) (c container) {
	c.members.from = len(p.members)
	s.object(func(key []byte) {
		switch string(key) {
		case "name":
			name := s.value()
			c.helper = string(name) == `"restore-wait"` || string(name) == `"restic-wait"`
			p.members = append(p.members, member{key, name})
		case "restartPolicy":
			policy, _ := s.text()
			c.sidecar = string(policy) == string(corev1.ContainerRestartPolicyAlways)
		case "resources":
			c.asks, _ = readResources(s)
		case "securityContext":
			p.members = append(p.members, member{key, s.value()})
		case "ports":
			p.keep(s, key, `"hostPort"`)
		case "livenessProbe", "readinessProbe", "startupProbe", "lifecycle":
			p.keep(s, key, `"host"`)
		default:
			s.skip()
		}
	})
	c.members.to = len(p.members)
	return c
}

// keep keeps the value at hand if it holds a word.
func (p *podNeeds) keep(s *scanner, key []byte, word string) {
	if value := s.value(); bytes.Contains(value, []byte(word)) {
		p.members = append(p.members, member{key, value})
	}
}

// readResources reads requests and limits, and says whether there is one that counts
// for all of a pod: of CPU, memory or huge pages.
func readResources(s *scanner) (a amounts, some bool) {
	s.object(func(key []byte) {
		switch string(key) {
		case "requests":
			some = a.read(s, 0) || some
		case "limits":
			some = a.read(s, 2) || some
		default:
			s.skip()
		}
	})
	return a, some
}

// read reads a list of resources.
func (a *amounts) read(s *scanner, at int) (some bool) {
	s.object(func(key []byte) {
		switch {
		case string(key) == "cpu":
			text := s.amount()
			a.n[at], a.given[at] = quantity(text, true)
			some = true
		case string(key) == "memory":
			text := s.amount()
			a.n[at+1], a.given[at+1] = quantity(text, false)
			some = true
		default:
			some = some || bytes.HasPrefix(key, []byte(corev1.ResourceHugePagesPrefix))
			s.skip()
		}
	})
	return some
}

// amount is the text of a quantity, which may be written as a number.
func (s *scanner) amount() []byte {
	if c := s.peek(); c >= '0' && c <= '9' {
		return s.value()
	}
	text, _ := s.text()
	return text
}

// putPod makes needs of a pod: its containers with what each asks for, what all of
// the pod asks for, and what Pod Security looks at.
func (o *object) putPod() {
	p := &o.raw.pod
	put := func(kind NeedKind, a amounts) {
		o.needs = append(o.needs, rawNeed{kind: kind})
		for i, given := range a.given {
			if given {
				o.needs = append(o.needs, rawNeed{kind: NeedCPURequest + NeedKind(i), amount: a.n[i]})
			}
		}
	}
	for _, c := range p.containers {
		put(NeedContainer, c.asks)
	}
	for _, c := range p.started {
		switch {
		case c.helper:
		case c.sidecar:
			put(NeedSidecar, c.asks)
		default:
			put(NeedInitContainer, c.asks)
		}
	}
	if p.hasLevel {
		put(NeedPodResources, p.level)
	}
	if p.overhead.given != [4]bool{} {
		put(NeedOverhead, p.overhead)
	}
	o.needs = append(o.needs, rawNeed{kind: NeedPodSecurity, name: p.security()})
}

// maxSecurity is how long what Pod Security looks at may be, in bytes. It is empty
// for a pod of which that is longer.
const maxSecurity = 16 << 10

// security is a pod with nothing but what Pod Security looks at, as JSON. Pods of one
// controller have the same. It is valid until the next body is read.
func (p *podNeeds) security() []byte {
	b := append(p.json[:0], '{')
	if len(p.annotations) > 0 {
		annotations := map[string]string{}
		for _, a := range p.annotations {
			annotations[string(a[0])] = string(a[1])
		}
		text, _ := json.Marshal(annotations) // strings alone
		b = append(append(append(b, `"metadata":{"annotations":`...), text...), `},`...)
	}
	b = append(b, `"spec":{`...)
	for _, m := range p.spec {
		b = append(m.put(b), ',')
	}
	b = append(b, `"volumes":[`...)
	for i, volume := range p.volumes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, volume...)
	}
	b = p.putContainers(append(b, `],"containers":`...), p.containers)
	b = p.putContainers(append(b, `,"initContainers":`...), p.started)
	if p.json = append(b, `}}`...); len(p.json) > maxSecurity {
		return nil
	}
	return p.json
}

func (m member) put(b []byte) []byte {
	b = append(append(append(b, '"'), m.key...), `":`...)
	return append(b, m.value...)
}

func (p *podNeeds) putContainers(b []byte, all []container) []byte {
	b = append(b, '[')
	for _, c := range all {
		if c.helper {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, '{')
		for i, m := range p.members[c.members.from:c.members.to] {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.put(b)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
