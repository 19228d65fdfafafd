package modifier

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

type jsonPatch struct {
	Operation string `json:"operation"`
	From      string `json:"from"`
	Path      string `json:"path"`
	Value     string `json:"value"`
}

type patchData struct {
	PatchData string `json:"patchData"`
}

// applyPatches applies the one kind of patches that a rule has (resource_modifiers.go, applyPatch).
func (r *rule) applyPatches(o *unstructured.Unstructured) error {
	object, err := []byte(nil), errors.New("a rule has no patches")
	switch {
	case len(r.Patches) > 0:
		if object, err = applyJSONPatches(r.Patches, o); errors.Is(err, jsonpatch.ErrTestFailed) {
			return nil
		}
	case len(r.MergePatches) > 0:
		object, err = applyMergePatches(r.MergePatches, o, jsonpatch.MergePatch)
	case len(r.StrategicPatches) > 0:
		object, err = applyMergePatches(r.StrategicPatches, o, func(object, patch []byte) ([]byte, error) {
			return applyStrategicPatch(o.GroupVersionKind(), object, patch)
		})
	}
	updated := &unstructured.Unstructured{}
	if err == nil &&
		updated.UnmarshalJSON(object) != nil { // its error quotes the whole object, which may be a Secret
		err = errors.New("the patched object is no object")
	}
	if err != nil {
		return fmt.Errorf("patching it: %w", err)
	}
	o.Object = updated.Object
	return nil
}

// maxCopiedBytes is the number of bytes that the copy operations of a patch may add.
const maxCopiedBytes = 8 << 20

func applyJSONPatches(patches []jsonPatch, o *unstructured.Unstructured) ([]byte, error) {
	texts := make([]string, len(patches))
	for i, p := range patches {
		texts[i] = fmt.Sprintf(
			`{"op": "%s", "from": "%s", "path": "%s", "value": %s}`,
			p.Operation,
			p.From,
			p.Path,
			quoteValue(p.Value),
		)
	}
	patch, err := jsonpatch.DecodePatch([]byte("[" + strings.Join(texts, ",") + "]"))
	if err != nil {
		return nil, fmt.Errorf("reading the JSON patch: %w", err)
	}
	object, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxCopiedBytes
	object, err = patch.ApplyWithOptions(object, options)
	var tooLarge *jsonpatch.AccumulatedCopySizeError
	if errors.As(err, &tooLarge) {
		return nil, fmt.Errorf("%w: it copies too much", errResultUnknown)
	}
	return object, err
}

// quoteValue returns a value as Velero writes it: quoted unless it is JSON, with nothing escaped (json_patch.go,
// addQuotes).
func quoteValue(value string) string {
	inQuotes := len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"'
	_, notNumber := strconv.ParseFloat(value, 64)
	lower := strings.ToLower(value)
	if inQuotes || value == "null" || lower == "true" || lower == "false" || notNumber == nil ||
		strings.HasPrefix(value, "{") ||
		strings.HasPrefix(value, "[") {
		return value
	}
	return `"` + value + `"`
}

func applyMergePatches(
	patches []patchData,
	o *unstructured.Unstructured,
	merge func(object, patch []byte) ([]byte, error),
) ([]byte, error) {
	object, err := o.MarshalJSON()
	for i := 0; i < len(patches) && err == nil; i++ {
		var patch []byte
		if patch, err = yaml.YAMLToJSON([]byte(patches[i].PatchData)); err == nil {
			object, err = merge(object, patch)
		}
	}
	return object, err
}

// patchScheme has the kinds of Kubernetes of which Velero applies strategic merge patches, and unlinkedVersions are the
// others: those that Velero's server registers (pkg/cmd/server/server.go, newServer). For each other kind, custom
// resources and most of Kubernetes' own, Velero reports an error.
var (
	patchScheme      = newPatchScheme(corev1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme)
	unlinkedVersions = []string{
		"velero.io/v1",
		"velero.io/v2alpha1",
		"snapshot.storage.k8s.io/v1",
		"groupsnapshot.storage.k8s.io/v1beta2",
	}
)

func newPatchScheme(registers ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, register := range registers {
		utilruntime.Must(register(scheme))
	}
	return scheme
}

// takesStrategicPatches reports whether Velero knows a version of a resource's group well enough to apply strategic
// merge patches.
func takesStrategicPatches(resource string) bool {
	_, group, _ := strings.Cut(resource, ".")
	return patchScheme.IsGroupRegistered(group) ||
		slices.ContainsFunc(unlinkedVersions, func(version string) bool { return strings.HasPrefix(version, group+"/") })
}

// applyStrategicPatch applies a strategic merge patch as the API server would (strategic_merge_patch.go).
func applyStrategicPatch(kind schema.GroupVersionKind, object, patch []byte) ([]byte, error) {
	if slices.Contains(unlinkedVersions, kind.GroupVersion().String()) {
		return nil, fmt.Errorf("%w: it has no schema of %s %s", errResultUnknown, kind.GroupVersion(), kind.Kind)
	}
	typed, err := patchScheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("kind %s of %s is none that Velero knows, so it applies no strategic merge patch to it",
			kind.Kind, kind.GroupVersion())
	}
	return strategicpatch.StrategicMergePatch(object, patch, typed)
}
