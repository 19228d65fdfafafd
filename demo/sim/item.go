package sim

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Item is one object of the cluster, as a backup stores it.
type Item struct {
	Group, Version, Resource, Kind string
	Namespace, Name, UID           string
	Labels                         map[string]string
	// Object is the JSON that goes into the tarball.
	Object []byte

	// Claims are the PersistentVolumeClaims that a pod mounts.
	Claims []string
	// PersistentVolume is what a bound claim is bound to.
	PersistentVolume string
	// Ended is true for pods and jobs that have run to their end; a restore
	// counts them as seen but never restores them.
	Ended bool
	// Excluded is true for items labelled velero.io/exclude-from-backup.
	Excluded bool
	// Trouble is the error that backing this item up ends in, if any.
	Trouble string
}

const excludeLabel = "velero.io/exclude-from-backup"

// NewItem reads what a backup needs to know of an object. resource is the
// plural under which the API server lists it.
func NewItem(resource string, u *unstructured.Unstructured) (*Item, error) {
	body, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("storing %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	gvk := u.GroupVersionKind()
	item := &Item{
		Group: gvk.Group, Version: gvk.Version, Resource: resource, Kind: gvk.Kind,
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
		Labels: u.GetLabels(), Object: body,
		Excluded: u.GetLabels()[excludeLabel] == "true",
	}
	switch item.GroupResource() {
	case "pods":
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		item.Ended = phase == "Succeeded" || phase == "Failed"
		volumes, _, _ := unstructured.NestedSlice(u.Object, "spec", "volumes")
		for _, v := range volumes {
			if volume, ok := v.(map[string]any); ok {
				if claim, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName"); claim != "" {
					item.Claims = append(item.Claims, claim)
				}
			}
		}
	case "jobs.batch":
		_, item.Ended, _ = unstructured.NestedString(u.Object, "status", "completionTime")
	case "persistentvolumeclaims":
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "Bound" {
			item.PersistentVolume, _, _ = unstructured.NestedString(u.Object, "spec", "volumeName")
		}
	}
	return item, nil
}

// GroupResource is the name of the item's directory in a tarball: pods,
// deployments.apps.
func (i *Item) GroupResource() string {
	if i.Group == "" {
		return i.Resource
	}
	return i.Resource + "." + i.Group
}

// groupVersionKind is the key of the item's kind in a resource list: v1/Pod,
// apps/v1/Deployment.
func (i *Item) groupVersionKind() string {
	if i.Group == "" {
		return i.Version + "/" + i.Kind
	}
	return i.Group + "/" + i.Version + "/" + i.Kind
}

func (i *Item) path() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

// key tells items of all kinds apart.
func (i *Item) key() string { return i.GroupResource() + "/" + i.path() }

// Volume is a claim whose data a backup can move.
type Volume struct {
	Namespace, Claim, ClaimUID, PersistentVolume string
	// Pod and PodVolume mount it; empty for a claim that no pod uses.
	Pod, PodUID, PodVolume, Node string
	// Bytes is its size as an uploader counts it, BytesPerSecond how fast the
	// data mover gets through it.
	Bytes, BytesPerSecond int64
}

// Cluster is what the simulated Velero backs up and restores into. It does not
// change while the simulation runs.
type Cluster struct {
	Items   []*Item
	Volumes []Volume
	// Quotas are the numbers of ConfigMaps and Secrets that a namespace takes.
	Quotas map[string]int
}

func (c *Cluster) volume(namespace, claim string) (Volume, bool) {
	for _, v := range c.Volumes {
		if v.Namespace == namespace && v.Claim == claim {
			return v, true
		}
	}
	return Volume{}, false
}

// volumesOf are the volumes that a pod mounts.
func (c *Cluster) volumesOf(namespace, pod string) []Volume {
	var found []Volume
	for _, v := range c.Volumes {
		if v.Namespace == namespace && v.Pod == pod {
			found = append(found, v)
		}
	}
	return found
}
