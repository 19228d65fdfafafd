package prepare

import (
	"encoding/json"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero"
)

// wait is the init container in which a pod waits for file system backups.
const wait = "restore-wait"

// generatedInit is how the names of the init containers of hooks begin that give none.
const generatedInit = "velero-restore-init-"

// pod drops where a pod ran, the token of its ServiceAccount, and the containers of an earlier restore, and
// adds the init container of its own hook (pod_action.go, pod_volume_restore_action.go,
// init_restorehook_pod_action.go). Not added is the init container that waits for file system backups: the
// API server lets it in where it lets in the others, but for quotas and limits.
func (r *Rules) pod(o *unstructured.Unstructured, c *Change) {
	drop(o, "spec", "nodeName")
	drop(o, "spec", "priority")
	token := nested(o, "spec", "serviceAccountName") + "-token-"
	isToken := func(name string) bool { return strings.HasPrefix(name, token) }
	spec, _ := o.Object["spec"].(map[string]any)
	if spec == nil {
		return
	}
	dropNamed(spec, "volumes", isToken)
	for _, container := range append(objects(spec, "containers"), objects(spec, "initContainers")...) {
		dropNamed(container, "volumeMounts", isToken)
	}
	if v, known := velero.ParseVersion(
		r.Server,
	); !known ||
		!v.Before(velero.Version{1, 17, 0}) { // then only a new one replaces it
		dropNamed(spec, "initContainers", func(name string) bool { return name == wait || name == "restic-wait" })
	}
	r.hook(o, spec, c)
}

// dropNamed removes the objects of a list by their names, and the list with its last.
func dropNamed(object map[string]any, list string, unwanted func(name string) bool) {
	all, _ := object[list].([]any)
	all = slices.DeleteFunc(all, func(item any) bool {
		named, _ := item.(map[string]any)
		name, _ := named["name"].(string)
		return unwanted(name)
	})
	if delete(object, list); len(all) > 0 {
		object[list] = all
	}
}

// hook adds the init container that a pod's annotations ask for; only without are there those of the restore
// (internal/hook/item_hook_handler.go, HandleRestoreHooks and getInitContainerFromAnnotation).
func (r *Rules) hook(o *unstructured.Unstructured, spec map[string]any, c *Change) {
	const prefix = "init.hook.restore.velero.io/"
	annotations := o.GetAnnotations()
	image := annotations[prefix+"container-image"]
	name := annotations[prefix+"container-name"]
	text := annotations[prefix+"command"]
	switch {
	case image == "":
		if slices.ContainsFunc(r.Restore.Hooks.Resources, inits) {
			c.unsure("a hook of the restore may add init containers")
		}
		return
	case text == "": // parseStringToCommand looks at its first letter
		c.Fails = "plugin panicked: the annotation " + prefix + "command is missing"
		return
	case name == "":
		name = generatedInit + "00000000" // Velero takes random digits
	}
	command := []any{}
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &command) != nil {
		command = []any{text}
	}
	others, _ := spec["initContainers"].([]any)
	at := 0
	if first := objects(spec, "initContainers"); len(first) > 0 && first[0]["name"] == wait {
		at = 1
	}
	spec["initContainers"] = slices.Insert(
		others,
		at,
		any(map[string]any{"name": name, "image": image, "command": command}),
	)
}

func inits(h velerov1.RestoreResourceHookSpec) bool {
	return slices.ContainsFunc(h.PostHooks, func(p velerov1.RestoreResourceHook) bool { return p.Init != nil })
}
