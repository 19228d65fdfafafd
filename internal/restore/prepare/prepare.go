package prepare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Rules hold everything besides the item that decides how it is restored.
type Rules struct {
	Restore     veleroapi.RestoreSpec
	RestoreName string // the Restore's, for Velero's labels
	// Server is the version of Velero's server as [velero.ParseVersion] reads it. If it is not a version, the rules are
	// those of the newest.
	Server          string
	CSIEnabled      *bool               // CSIEnabled says whether Velero runs with EnableCSI; nil is unknown.
	NativeSnapshots bool                // NativeSnapshots says whether the backup may hold native snapshots of volumes.
	VolumeMethods   map[string]string   // VolumeMethods is how the backup holds the data of volumes, where known.
	Plugins         map[string][]string // the ConfigMaps of plugins ([live.Environment].PluginConfigs)
	StorageClassMap map[string]string   // how Velero changes storage classes ([live.Environment].ClassMap); nil is unknown
	Modifier        *modifier.Rules     // nil for none
	UnreadModifier  string              // the name of a modifier that applies and could not be read
	// ClaimExists reports whether the target holds a claim, which Velero's CSI action then leaves alone; nil stands for
	// no.
	ClaimExists func(namespace, name string) bool
}

// Change is what Velero's actions do to an item.
type Change struct {
	SkipReason   string // why Velero does not create it, empty if it does
	UnsureReason string // why veltui cannot tell what Velero creates, empty if it can
	// MaybeSkippedReason is why Velero may not create the object at all. If Velero does create it, it creates this object.
	MaybeSkippedReason string
	Failure            string   // the error with which Velero gives up the item before it creates the object
	Errors             []string // errors of the resource modifier; Velero still creates the object
	// Difference is what makes Velero find any object of the cluster different, whatever it holds; empty if nothing
	// does.
	Difference       string
	UncomparedReason string // why veltui cannot tell whether Velero finds an object of the cluster different
	Renamed          bool   // whether Velero gives the object another name, and so leaves an object of the item's name
	Changed          bool   // whether more may have changed than every restore changes
}

// PrepareItem changes o, the body in the backup, in place into what Velero sends to the API server: metadata reset,
// built-in actions, resource modifier, namespace mapping, Velero's labels (pkg/restore/restore.go, restoreItem,
// 1.18.3). Callers handle mirror pods, ended jobs and pods, and namespaces.
func (r *Rules) PrepareItem(resource string, o *unstructured.Unstructured) Change {
	c, namespace := Change{}, o.GetNamespace()
	ResetMetadata(o)
	r.applyActions(resource, o, &c)
	if c.SkipReason != "" || c.Failure != "" {
		return c
	}
	r.applyModifier(resource, o, &c)
	if namespace != "" {
		o.SetNamespace(r.targetNamespace(namespace))
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[veleroapi.BackupNameLabel] = veleroapi.ValidLabel(r.Restore.BackupName)
	labels[veleroapi.RestoreNameLabel] = veleroapi.ValidLabel(r.RestoreName)
	o.SetLabels(labels)
	return c
}

// ResetMetadata removes the fields that Velero removes from an item before it restores it, and from the object in the
// cluster before it compares them (pkg/restore/restore.go, resetMetadataAndStatus).
func ResetMetadata(o *unstructured.Unstructured) {
	for _, name := range []string{"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	unstructured.RemoveNestedField(o.Object, "status")
}

func (r *Rules) applyModifier(resource string, o *unstructured.Unstructured, c *Change) {
	if r.Modifier != nil {
		errs, unsure := r.Modifier.Apply(resource, o)
		for _, err := range errs {
			c.Errors = append(c.Errors, err.Error())
		}
		c.Changed = true
		c.addUnsure(unsure)
	} else if name := modifier.ConfigMapName(r.Restore, r.UnreadModifier); name != "" {
		c.addUnsure("the resource modifier " + name + " may change it")
	}
}

// targetNamespace returns the namespace in the target for a namespace in the backup.
func (r *Rules) targetNamespace(namespace string) string {
	if to, ok := r.Restore.NamespaceMapping[namespace]; ok {
		return to
	}
	return namespace
}

func (c *Change) addUnsure(why string) {
	if c.UnsureReason == "" {
		c.UnsureReason = why
	}
}

func nestedString(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func removeField(o *unstructured.Unstructured, path ...string) {
	unstructured.RemoveNestedField(o.Object, path...)
}

// objectsAt returns the objects in a list. The caller may change them.
func objectsAt(of map[string]any, path ...string) (all []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && m != nil {
			all = append(all, m)
		}
	}
	return all
}
