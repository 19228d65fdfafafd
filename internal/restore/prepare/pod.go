package prepare

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// waitContainerName is the init container in which a pod waits for file system backups.
const waitContainerName = "restore-wait"

// generatedInitPrefix is the beginning of the names of hooks' init containers that have no name of their own.
const generatedInitPrefix = "velero-restore-init-"

// preparePod drops the pod's node, the token of its ServiceAccount, and the containers of an earlier restore, and
// adds the init container of the pod's own hook (pod_action.go, pod_volume_restore_action.go,
// init_restorehook_pod_action.go). It does not add the init container that waits for file system backups: the API
// server accepts it wherever it accepts the others, except for quotas and limits.
func (r *Rules) preparePod(o *unstructured.Unstructured, c *Change) {
	removeField(o, "spec", "nodeName")
	removeField(o, "spec", "priority")
	token := nestedString(o, "spec", "serviceAccountName") + "-token-"
	isToken := func(name string) bool { return strings.HasPrefix(name, token) }
	spec, _ := o.Object["spec"].(map[string]any)
	if spec == nil {
		return
	}
	dropByName(spec, "volumes", isToken)
	for _, container := range append(objectsAt(spec, "containers"), objectsAt(spec, "initContainers")...) {
		dropByName(container, "volumeMounts", isToken)
	}
	if v, known := velero.ParseVersion(
		r.Server,
	); !known ||
		!v.Before(velero.Version{1, 17, 0}) { // before that, only a new container replaces the old one
		dropByName(
			spec,
			"initContainers",
			func(name string) bool { return name == waitContainerName || name == "restic-wait" },
		)
	}
	r.addHookContainer(o, spec, c)
}

// dropByName removes objects from a list by their names, and the list if none is left.
func dropByName(object map[string]any, list string, unwanted func(name string) bool) {
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

// addHookContainer adds the init container that a pod's annotations request; the restore's hooks apply only to pods
// without such annotations (internal/hook/item_hook_handler.go, HandleRestoreHooks and
// getInitContainerFromAnnotation).
func (r *Rules) addHookContainer(o *unstructured.Unstructured, spec map[string]any, c *Change) {
	const prefix = "init.hook.restore.velero.io/"
	annotations := o.GetAnnotations()
	image := annotations[prefix+"container-image"]
	name := annotations[prefix+"container-name"]
	text := annotations[prefix+"command"]
	switch {
	case image == "":
		if slices.ContainsFunc(r.Restore.Hooks.Resources, hasInitHook) {
			c.addUnsure("a hook of the restore may add init containers")
		}
		return
	case text == "": // parseStringToCommand reads its first letter
		c.Failure = "plugin panicked: the annotation " + prefix + "command is missing"
		return
	case name == "":
		name = generatedInitPrefix + "00000000" // Velero uses random digits
	}
	command := []any{}
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &command) != nil {
		command = []any{text}
	}
	others, _ := spec["initContainers"].([]any)
	at := 0
	if first := objectsAt(spec, "initContainers"); len(first) > 0 && first[0]["name"] == waitContainerName {
		at = 1
	}
	spec["initContainers"] = slices.Insert(
		others,
		at,
		any(map[string]any{"name": name, "image": image, "command": command}),
	)
}

func hasInitHook(h veleroapi.RestoreResourceHookSpec) bool {
	return slices.ContainsFunc(h.PostHooks, func(p veleroapi.RestoreResourceHook) bool { return p.Init != nil })
}
