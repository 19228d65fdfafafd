package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// Modifier is the resource modifier that applies to a restore. Its zero value is none.
type Modifier struct {
	Name    string          // empty for none
	Rules   *modifier.Rules // nil if it was not read, or is not valid
	Refused string          // why Velero refuses the restore because of it
}

// ModifierOf reads what Velero reads for a restore (pkg/controller/restore_controller.go, validateAndComplete,
// 1.14 to 1.18): a reference to another kind than a ConfigMap it leaves unread.
func ModifierOf(r velerov1.RestoreSpec, byDefault string, around *live.Surroundings) Modifier {
	m := Modifier{Name: modifier.Name(r, byDefault)}
	if r.ResourceModifier != nil && !isConfigMap(r.ResourceModifier) {
		return Modifier{}
	}
	data, asked := cmp.Or(around, &live.Surroundings{}).Configs[m.Name]
	if !asked {
		return m
	}
	err := errMissing
	if data != nil {
		m.Rules, err = modifier.Parse(data)
	}
	if err != nil {
		m.Refused = sanitize.String(err.Error())
	}
	return m
}

var errMissing = errors.New("there is no such ConfigMap in the namespace of Velero")

func isConfigMap(r *corev1.TypedLocalObjectReference) bool {
	return strings.EqualFold(r.Kind, "configmap")
}

// Configs are the ConfigMaps that Velero reads for a restore.
func Configs(r velerov1.RestoreSpec, byDefault string) (names []string) {
	if name := ModifierOf(r, byDefault, nil).Name; name != "" {
		names = append(names, name)
	}
	if p := r.ResourcePolicy; p != nil && isConfigMap(p) {
		names = append(names, p.Name)
	}
	return names
}

// validate finds what Velero refuses a restore for and its filters do not say (validateAndComplete).
func (c *check) validate() {
	refuse := func(why string) {
		c.find(
			Finding{
				Severity: Obstacle,
				Reason:   Refused,
				Sentence: "Velero refuses this restore: " + sanitize.String(why) + ".",
				Remedy:   "Change the restore, or what it refers to: as it is, Velero ends it at once.",
			},
		)
	}
	if c.Refused != "" {
		c.find(
			Finding{
				Severity: Obstacle,
				Reason:   Refused,
				Sentence: c.Refused,
				Remedy:   "Change the restore: as it is, Velero ends it at once.",
			},
		)
	}
	if p := c.Restore.ExistingResourcePolicy; p != "" && p != velerov1.PolicyTypeNone &&
		p != velerov1.PolicyTypeUpdate {
		refuse("existingResourcePolicy " + string(p) + " is neither none nor update")
	}
	for _, why := range invalidHooks(c.Restore.Hooks.Resources) {
		refuse(why)
	}
	around, unread := cmp.Or(
		c.Around,
		&live.Surroundings{},
	), "the cluster was not checked, or the ConfigMap is not valid"
	if c.Velero.Backup != nil {
		unread = cmp.Or(around.Why(live.ConfigMaps, c.Velero.Backup.Namespace), unread)
	}
	m, own := &c.modifier, c.Restore.ResourceModifier
	switch {
	case m.Refused != "" && own != nil:
		refuse("resource modifier " + m.Name + ": " + m.Refused)
	case m.Name != "" && m.Rules == nil && c.Fates != nil:
		c.notLooked("what the resource modifier "+m.Name+" changes", unread)
	case m.Name == "" && own != nil:
		c.about(
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
	if p == nil || !c.reads("resource-policies-configmap") {
		return
	}
	data, asked := around.Configs[p.Name]
	_, err := velero.ParseRestorePolicy(data)
	switch {
	case !isConfigMap(p):
		refuse("its resource policy is of kind " + p.Kind + ", not a ConfigMap")
	case !asked:
		c.notLooked("what the resource policy "+p.Name+" leaves out", unread)
	case data == nil:
		refuse("resource policy " + p.Name + ": " + errMissing.Error())
	case err != nil:
		refuse("resource policy " + p.Name + ": " + err.Error())
	}
}

// invalidHooks are as in internal/hook/item_hook_handler.go, GetRestoreHooksFromSpec and ValidateContainer.
func invalidHooks(hooks []velerov1.RestoreResourceHookSpec) (all []string) {
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
