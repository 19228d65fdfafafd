package coverage

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/veltui/veltui/internal/velero"
)

// Policy is a ConfigMap with resource policies (internal/resourcepolicies/resource_policies.go, 1.18.3).
type Policy struct {
	Volumes []volumePolicy `json:"volumePolicies"`
	Include *struct {
		IncludedCluster    []string `json:"includedClusterScopedResources"`
		ExcludedCluster    []string `json:"excludedClusterScopedResources"`
		IncludedNamespaced []string `json:"includedNamespaceScopedResources"`
		ExcludedNamespaced []string `json:"excludedNamespaceScopedResources"`
	} `json:"includeExcludePolicy"`
	velero.FilterPolicy
	err error // why Velero refuses it
}

type volumePolicy struct {
	Conditions volumeConditions `json:"conditions"`
	Action     struct {
		Type       string         `json:"type"`
		Parameters map[string]any `json:"parameters"`
	} `json:"action"`
	title, configMap string // in a sentence
}

// volumeConditions are those of volume_filter_data.go and volume_resources_validator.go.
type volumeConditions struct {
	Capacity     string   `json:"capacity"`
	StorageClass []string `json:"storageClass"`
	NFS          *struct {
		Server string `json:"server"`
		Path   string `json:"path"`
	} `json:"nfs"`
	CSI *struct {
		Driver     string            `json:"driver"`
		Attributes map[string]string `json:"volumeAttributes"`
	} `json:"csi"`
	Types                    []string                            `json:"volumeTypes"`
	Labels                   map[string]string                   `json:"pvcLabels"`
	Phases                   []corev1.PersistentVolumeClaimPhase `json:"pvcPhase"`
	Mode                     corev1.PersistentVolumeMode         `json:"pvcVolumeMode"`
	AccessModes              []corev1.PersistentVolumeAccessMode `json:"pvcAccessModes"`
	minCapacity, maxCapacity resource.Quantity
}

// ParsePolicy reads a ConfigMap as getResourcePoliciesFromConfig and Validate do; an error is stored in the policy.
func ParsePolicy(configMap string, data map[string]string) *Policy {
	p := &Policy{}
	p.err = p.parseConfigMap(configMap, data)
	return p
}

func (p *Policy) parseConfigMap(configMap string, data map[string]string) error {
	if err := velero.DecodePolicy(data, p); err != nil {
		return err
	}
	for i := range p.Volumes {
		v := &p.Volumes[i]
		v.title, v.configMap = fmt.Sprintf("volume policy %d", i+1), configMap
		if !slices.Contains([]string{"skip", "snapshot", "fs-backup", "custom"}, v.Action.Type) {
			return fmt.Errorf("the action %q does not exist", v.Action.Type)
		}
		if err := v.Conditions.parseCapacity(); err != nil {
			return err
		}
	}
	if i := p.Include; i != nil {
		for _, pair := range [][2][]string{
			{i.IncludedCluster, i.ExcludedCluster},
			{i.IncludedNamespaced, i.ExcludedNamespaced},
		} {
			if slices.Contains(slices.Concat(pair[0], pair[1]), "*") || sets.New(pair[0]...).HasAny(pair[1]...) {
				return errors.New("its includeExcludePolicy has * or a resource in both lists")
			}
		}
	}
	return p.Validate()
}

// parseCapacity reads the capacity as Velero's parseCapacity and validate do.
func (c *volumeConditions) parseCapacity() error {
	parts := strings.Split(cmp.Or(c.Capacity, ","), ",")
	if len(parts) != 2 {
		return fmt.Errorf("the capacity %q has no form like 10Gi,100Gi", c.Capacity)
	}
	for i, bound := range []*resource.Quantity{&c.minCapacity, &c.maxCapacity} {
		quantity, err := resource.ParseQuantity(cmp.Or(strings.TrimSpace(parts[i]), "0"))
		if err != nil {
			return fmt.Errorf("the capacity %q: %w", c.Capacity, err)
		}
		*bound = quantity
	}
	if c.maxCapacity.Cmp(c.minCapacity) < 0 && !c.maxCapacity.IsZero() {
		return fmt.Errorf("the capacity %q ends before it begins", c.Capacity)
	}
	if c.CSI != nil && c.CSI.Driver == "" && c.CSI.Attributes != nil {
		return errors.New("a csi condition has volumeAttributes and no driver")
	}
	return nil
}

// volumePolicyFor returns the first policy that matches, else zero (Policies.match); pv is nil for a claim without a
// volume.
func volumePolicyFor(
	policies []volumePolicy,
	pv *corev1.PersistentVolume,
	claim *corev1.PersistentVolumeClaim,
) volumePolicy {
	source := corev1.PersistentVolumeSpec{}
	if pv != nil {
		source = pv.Spec
	}
	for i := range policies {
		if policies[i].Conditions.matchesVolume(&source, claim) {
			return policies[i]
		}
	}
	return volumePolicy{}
}

// matchesVolume reports whether a volume meets all conditions (volume_resources.go).
func (c *volumeConditions) matchesVolume(pv *corev1.PersistentVolumeSpec, claim *corev1.PersistentVolumeClaim) bool {
	size := pv.Capacity.Storage()
	return c.minCapacity.Cmp(*size) <= 0 && (c.maxCapacity.IsZero() || c.maxCapacity.Cmp(*size) >= 0) &&
		isListedOrUnset(c.StorageClass, pv.StorageClassName) &&
		(c.NFS == nil || pv.NFS != nil &&
			cmp.Or(c.NFS.Server, pv.NFS.Server) == pv.NFS.Server &&
			cmp.Or(c.NFS.Path, pv.NFS.Path) == pv.NFS.Path) &&
		c.matchesCSI(pv.CSI) &&
		isListedOrUnset(c.Types, volumeType(pv.PersistentVolumeSource)) &&
		labels.SelectorFromSet(c.Labels).Matches(labels.Set(claim.Labels)) &&
		isListedOrUnset(c.Phases, claim.Status.Phase) &&
		(c.Mode == "" || claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == c.Mode) &&
		(len(c.AccessModes) == 0 || len(c.AccessModes) == len(claim.Spec.AccessModes) &&
			sets.New(c.AccessModes...).Equal(sets.New(claim.Spec.AccessModes...)))
}

// isListedOrUnset reports whether a condition lists a value, or nothing at all.
func isListedOrUnset[T ~string](listed []T, value T) bool {
	return len(listed) == 0 || value != "" && slices.Contains(listed, value)
}

func (c *volumeConditions) matchesCSI(source *corev1.CSIPersistentVolumeSource) bool {
	switch {
	case c.CSI == nil:
		return true
	case source == nil,
		c.CSI.Driver != "" && c.CSI.Driver != source.Driver,
		len(c.CSI.Attributes) > 0 && len(source.VolumeAttributes) == 0:
		return false
	}
	for key, value := range c.CSI.Attributes {
		if source.VolumeAttributes[key] != value {
			return false
		}
	}
	return true
}

// volumeType returns the name of the source that is set, as getVolumeTypeFromPV does, empty for none.
func volumeType(source corev1.PersistentVolumeSource) string {
	v := reflect.ValueOf(source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			word, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return strings.Replace(word, "storageos", "storageOS", 1)
		}
	}
	return ""
}
