package collector

import (
	"slices"

	"github.com/veltui/veltui/internal/platform"
)

// These are the fields read from pods and pod templates that name other objects.
var (
	nameFields      = fieldTree{"name": nil, "secretName": nil, "optional": nil}
	referenceFields = fieldTree{
		"serviceAccountName": nil,
		"runtimeClassName":   nil,
		"priorityClassName":  nil,
		"imagePullSecrets":   {"name": nil},
		"volumes": {
			"configMap":             nameFields,
			"secret":                nameFields,
			"persistentVolumeClaim": {"claimName": nil},
			"projected":             {"sources": {"configMap": nameFields, "secret": nameFields}},
			"ephemeral":             {"volumeClaimTemplate": {"spec": {"storageClassName": nil}}},
		},
		"containers":     environmentFields,
		"initContainers": environmentFields,
	}
	environmentFields = fieldTree{
		"envFrom": {"configMapRef": nameFields, "secretRef": nameFields},
		"env":     {"valueFrom": {"configMapKeyRef": nameFields, "secretKeyRef": nameFields}},
	}
	templateFields = fieldTree{"spec": referenceFields}
	workloadFields = fieldTree{
		"template":             templateFields,
		"volumeClaimTemplates": {"metadata": {"annotations": {annStorageClass: nil}}, "spec": {"storageClassName": nil}},
	}
	cronJobFields = fieldTree{"jobTemplate": {"spec": {"template": templateFields}}}
)

// objectName is the reference of a pod to an object in its namespace.
type objectName struct {
	Name, SecretName string
	Optional         bool
}

// claimTemplate is a claim that Kubernetes makes later.
type claimTemplate struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct{ StorageClassName *string }
}

// podReferences are the objects that a pod names.
type podReferences struct {
	ServiceAccountName, RuntimeClassName, PriorityClassName string
	ImagePullSecrets                                        []objectName
	Volumes                                                 []struct {
		ConfigMap, Secret     *objectName
		PersistentVolumeClaim struct{ ClaimName string }
		Projected             struct {
			Sources []struct{ ConfigMap, Secret *objectName }
		}
		Ephemeral *struct{ VolumeClaimTemplate claimTemplate }
	}
	Containers, InitContainers []struct {
		EnvFrom []struct{ ConfigMapRef, SecretRef *objectName }
		Env     []struct {
			ValueFrom struct{ ConfigMapKeyRef, SecretKeyRef *objectName }
		}
	}
}

// readPodReferences reads what a pod needs to start.
func (o *parsedObject) readPodReferences() {
	var spec podReferences
	if o.decodeFields(o.spec, referenceFields, &spec) {
		spec.PriorityClassName = "" // readPod reads it
		o.addReferences(&spec)
	}
}

// readWorkload reads what the pods and claims need that a workload makes.
func (o *parsedObject) readWorkload(want wantedFacts) {
	type template struct{ Spec podReferences }
	var spec struct {
		Template             template
		VolumeClaimTemplates []claimTemplate
		JobTemplate          struct {
			Spec struct{ Template template }
		}
	}
	fields := workloadFields
	if want == wantCronJob {
		fields = cronJobFields
	}
	if !o.decodeFields(o.spec, fields, &spec) {
		return
	}
	o.addReferences(&spec.Template.Spec)
	o.addReferences(&spec.JobTemplate.Spec.Template.Spec)
	for i := range spec.VolumeClaimTemplates[:min(len(spec.VolumeClaimTemplates), maxNeeds)] {
		o.addMadeClaim(&spec.VolumeClaimTemplates[i])
	}
}

// addMadeClaim adds the class of a claim that Kubernetes makes later.
func (o *parsedObject) addMadeClaim(c *claimTemplate) {
	switch old := c.Metadata.Annotations[annStorageClass]; {
	case old != "":
		o.addOnce(Need{NeedMadeClass, old, 1})
	case c.Spec.StorageClassName == nil:
		o.addOnce(Need{Kind: NeedMadeDefaultClass})
	default:
		o.addReference(NeedMadeClass, *c.Spec.StorageClassName)
	}
}

// addReference adds a need with a name, once.
func (o *parsedObject) addReference(kind NeedKind, name string) {
	if name != "" {
		o.addOnce(Need{Kind: kind, Name: name})
	}
}

func (o *parsedObject) addOnce(n Need) {
	if len(o.needs) < maxNeeds && !slices.Contains(o.needs, n) {
		o.needs = append(o.needs, n)
	}
}

// addReferences adds the objects without which Kubernetes does not start a pod.
func (o *parsedObject) addReferences(p *podReferences) {
	if platform.MakerOf("serviceaccounts", p.ServiceAccountName) == "" {
		o.addReference(NeedServiceAccount, p.ServiceAccountName)
	}
	o.addReference(NeedRuntimeClass, p.RuntimeClassName)
	o.addReference(NeedPriorityClass, p.PriorityClassName)
	for _, secret := range p.ImagePullSecrets {
		o.addReference(NeedPullSecret, secret.Name)
	}
	for i := range p.Volumes {
		v := &p.Volumes[i]
		o.addObjects(v.ConfigMap, v.Secret)
		o.addReference(NeedClaim, v.PersistentVolumeClaim.ClaimName)
		for _, source := range v.Projected.Sources {
			o.addObjects(source.ConfigMap, source.Secret)
		}
		if v.Ephemeral != nil {
			o.addMadeClaim(&v.Ephemeral.VolumeClaimTemplate)
		}
	}
	for _, c := range slices.Concat(p.InitContainers, p.Containers) {
		for _, from := range c.EnvFrom {
			o.addObjects(from.ConfigMapRef, from.SecretRef)
		}
		for _, env := range c.Env {
			o.addObjects(env.ValueFrom.ConfigMapKeyRef, env.ValueFrom.SecretKeyRef)
		}
	}
}

// addObjects adds a ConfigMap and a Secret that a pod names, unless it starts without.
func (o *parsedObject) addObjects(configMap, secret *objectName) {
	if configMap != nil && !configMap.Optional && !platform.MakesConfigMap(platform.ConfigMaps, configMap.Name) {
		o.addReference(NeedConfigMap, configMap.Name)
	}
	if secret != nil && !secret.Optional {
		o.addReference(NeedSecret, secret.Name)
		o.addReference(NeedSecret, secret.SecretName)
	}
}
