package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Modifier is the resource modifier that applies to a restore. Its zero value stands for no modifier.
type Modifier struct {
	Name          string          // empty for none
	Rules         *modifier.Rules // nil if it was not read, or is not valid
	RefusalReason string          // why Velero refuses the restore because of it
}

// FindModifier returns the resource modifier that Velero reads for a restore (pkg/controller/restore_controller.go,
// validateAndComplete, 1.14 to 1.18). Velero does not read a reference to a kind other than ConfigMap.
func FindModifier(r veleroapi.RestoreSpec, byDefault string, around *live.Environment) Modifier {
	m := Modifier{Name: modifier.ConfigMapName(r, byDefault)}
	if r.ResourceModifier != nil && !isConfigMap(r.ResourceModifier) {
		return Modifier{}
	}
	data, asked := cmp.Or(around, &live.Environment{}).ConfigMapData[m.Name]
	if !asked {
		return m
	}
	err := errConfigMapMissing
	if data != nil {
		m.Rules, err = modifier.Parse(data)
	}
	if err != nil {
		m.RefusalReason = sanitize.String(err.Error())
	}
	return m
}

var errConfigMapMissing = errors.New("there is no such ConfigMap in the namespace of Velero")

func isConfigMap(r *corev1.TypedLocalObjectReference) bool {
	return strings.EqualFold(r.Kind, "configmap")
}

// ConfigMapNames returns the names of the ConfigMaps that Velero reads for a restore.
func ConfigMapNames(r veleroapi.RestoreSpec, byDefault string) (names []string) {
	if name := FindModifier(r, byDefault, nil).Name; name != "" {
		names = append(names, name)
	}
	if p := r.ResourcePolicy; p != nil && isConfigMap(p) {
		names = append(names, p.Name)
	}
	return names
}

// RefusalLead begins a sentence that gives the reason why Velero refuses a restore.
const RefusalLead = "Velero refuses this restore: "

// SpecRefusals returns, in sentences, why Velero refuses a restore, as far as the spec alone shows it.
func SpecRefusals(r veleroapi.RestoreSpec) (sentences []string) {
	sentences = collector.RefusalReasons(r)
	for _, why := range fieldRefusals(r) {
		sentences = append(sentences, human.EndSentence(sanitize.String(why)))
	}
	return sentences
}

// fieldRefusals returns the reasons in fields other than filters for which Velero refuses a restore.
func fieldRefusals(r veleroapi.RestoreSpec) (all []string) {
	if p := r.ExistingResourcePolicy; p != "" && p != veleroapi.PolicyTypeNone && p != veleroapi.PolicyTypeUpdate {
		all = append(all, "existingResourcePolicy "+string(p)+" is neither none nor update")
	}
	return append(all, invalidHooks(r.Hooks.Resources)...)
}

// checkValidation finds the reasons, besides those in its filters, for which Velero refuses a restore
// (validateAndComplete).
func (c *checker) checkValidation() {
	refuse := func(why string) {
		c.addFinding(
			Finding{
				Severity: Obstacle,
				Reason:   Refused,
				Sentence: RefusalLead + human.EndSentence(sanitize.String(why)),
				Remedy:   "Change the restore, or what it refers to: as it is, Velero ends it at once.",
			},
		)
	}
	if c.RefusalReason != "" {
		c.addFinding(
			Finding{
				Severity: Obstacle,
				Reason:   Refused,
				Sentence: c.RefusalReason,
				Remedy:   "Change the restore: as it is, Velero ends it at once.",
			},
		)
	}
	for _, why := range fieldRefusals(c.Restore) {
		refuse(why)
	}
	around, unread := cmp.Or(
		c.Environment,
		&live.Environment{},
	), "the cluster was not checked, or the ConfigMap is not valid"
	if c.Velero.Backup != nil {
		unread = cmp.Or(around.UncheckedReason(live.ConfigMaps, c.Velero.Backup.Namespace), unread)
	}
	m, own := &c.modifier, c.Restore.ResourceModifier
	switch {
	case m.RefusalReason != "" && own != nil:
		refuse("resource modifier " + m.Name + ": " + m.RefusalReason)
	case m.Name != "" && m.Rules == nil && c.Fates != nil:
		c.addUnchecked("what the resource modifier "+m.Name+" changes", unread)
	case m.Name == "" && own != nil:
		c.addFindingFor(
			"--resource-modifier-configmap",
			Doubt,
			FieldIgnored,
			fmt.Sprintf(
				"Velero ignores a resource modifier of kind %s, and changes nothing.",
				sanitize.String(own.Kind),
			),
			"Refer to a ConfigMap.",
		)
	}
	p := c.Restore.ResourcePolicy
	if p == nil || !c.serverReadsField("resource-policies-configmap") {
		return
	}
	data, asked := around.ConfigMapData[p.Name]
	_, err := velero.ParseRestorePolicy(data)
	switch {
	case !isConfigMap(p):
		refuse("its resource policy is of kind " + p.Kind + ", not a ConfigMap")
	case !asked:
		c.addUnchecked("what the resource policy "+p.Name+" leaves out", unread)
	case data == nil:
		refuse("resource policy " + p.Name + ": " + errConfigMapMissing.Error())
	case err != nil:
		refuse("resource policy " + p.Name + ": " + err.Error())
	}
}

// invalidHooks returns the errors of hooks as Velero checks them (internal/hook/item_hook_handler.go,
// GetRestoreHooksFromSpec and ValidateContainer).
func invalidHooks(hooks []veleroapi.RestoreResourceHookSpec) (all []string) {
	for _, resource := range hooks {
		if _, err := metav1.LabelSelectorAsSelector(resource.LabelSelector); err != nil {
			return []string{"the selector of restore hook " + resource.Name + " is not valid: " + err.Error()}
		}
		for _, hook := range resource.PostHooks {
			if hook.Init == nil {
				continue
			}
			for _, raw := range hook.Init.InitContainers {
				var container corev1.Container
				if json.Unmarshal(raw.Raw, &container) != nil || len(container.Command) == 0 || container.Name == "" ||
					container.Image == "" {
					all = append(
						all,
						"an init container of restore hook "+resource.Name+" cannot be read, or lacks its name, image or command",
					)
				}
			}
		}
	}
	return all
}
