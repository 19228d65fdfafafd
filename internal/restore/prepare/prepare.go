package prepare

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/modifier"
)

// Rules say what decides besides the item itself.
type Rules struct {
	Restore velerov1.RestoreSpec
	Name    string // the Restore's, for Velero's labels
	// Server is the version of Velero's server as [velero.ParseVersion] reads it. Where
	// it tells none, the rules are those of the newest.
	Server          string
	CSI             *bool               // CSI says whether Velero runs with EnableCSI; nil is unknown.
	NativeSnapshots bool                // NativeSnapshots says whether the backup may hold native snapshots of volumes.
	Volumes         map[string]string   // Volumes says how the backup holds the data of volumes, as far as that is known.
	Plugins         map[string][]string // the ConfigMaps of plugins (package live, Surroundings.PluginConfigs)
	ClassMap        map[string]string   // what Velero makes of storage classes (Surroundings.ClassMap); nil is unknown
	Modifier        *modifier.Rules     // nil for none
	UnreadModifier  string              // the name of one that applies and could not be read
	// ClaimExists says whether the target holds a claim, which Velero's CSI action then leaves; nil stands for no.
	ClaimExists func(namespace, name string) bool
}

// Change is what Velero's actions did to an item.
type Change struct {
	Skip   string // why Velero does not create it, empty if it does
	Unsure string // why veltui cannot tell what Velero creates, empty if it can
	// Perhaps is why Velero may not create it at all. If it does, it creates this.
	Perhaps string
	Fails   string   // the error with which Velero gives the item up before it creates it
	Errors  []string // errors of the resource modifier, with which Velero creates the object all the same
	// Differs is what makes Velero find any object of the cluster different, whatever it holds; empty if nothing does.
	Differs    string
	Uncompared string // why veltui cannot tell whether Velero finds an object of the cluster different
	Renamed    bool   // whether Velero gives it another name, so that it leaves an object of that name
	Changed    bool   // whether more may have changed than in every restore
}

// Item changes o, the body in the backup, in place into what Velero sends to the API server: metadata reset,
// built-in actions, resource modifier, namespace mapping, Velero's labels (pkg/restore/restore.go,
// restoreItem, 1.18.3). Mirror pods, what has ended and namespaces are up to the caller.
func (r *Rules) Item(resource string, o *unstructured.Unstructured) Change {
	c, namespace := Change{}, o.GetNamespace()
	Reset(o)
	r.act(resource, o, &c)
	if c.Skip != "" || c.Fails != "" {
		return c
	}
	r.modify(resource, o, &c)
	if namespace != "" {
		o.SetNamespace(r.target(namespace))
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[velerov1.BackupNameLabel] = label.GetValidName(r.Restore.BackupName)
	labels[velerov1.RestoreNameLabel] = label.GetValidName(r.Name)
	o.SetLabels(labels)
	return c
}

// Reset removes what Velero removes of an item before it restores it, and of the object in the cluster before it
// compares them (pkg/restore/restore.go, resetMetadataAndStatus).
func Reset(o *unstructured.Unstructured) {
	for _, name := range []string{"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	unstructured.RemoveNestedField(o.Object, "status")
}

func (r *Rules) modify(resource string, o *unstructured.Unstructured, c *Change) {
	if r.Modifier != nil {
		errs, unsure := r.Modifier.Apply(resource, o)
		for _, err := range errs {
			c.Errors = append(c.Errors, err.Error())
		}
		c.Changed = true
		c.unsure(unsure)
	} else if name := modifier.Name(r.Restore, r.UnreadModifier); name != "" {
		c.unsure("the resource modifier " + name + " may change it")
	}
}

// target is the namespace in the target of one in the backup.
func (r *Rules) target(namespace string) string {
	if to, ok := r.Restore.NamespaceMapping[namespace]; ok {
		return to
	}
	return namespace
}

func (c *Change) unsure(why string) {
	if c.Unsure == "" {
		c.Unsure = why
	}
}

func nested(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func drop(o *unstructured.Unstructured, path ...string) {
	unstructured.RemoveNestedField(o.Object, path...)
}

// objects are those in a list. They may be changed.
func objects(of map[string]any, path ...string) (all []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && m != nil {
			all = append(all, m)
		}
	}
	return all
}
