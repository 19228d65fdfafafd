package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedKind is one served kind of object.
type servedKind struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	namespaced bool
}

// builtinKinds are the kinds that every cluster with Velero serves. Other kinds are served once they have an object.
var builtinKinds = []schema.GroupVersionKind{
	newGVK(
		"",
		"v1",
		"Namespace",
	),
	newGVK("", "v1", "Node"),
	newGVK("", "v1", "Pod"),
	newGVK("", "v1", "Event"),
	newGVK("", "v1", "Secret"),
	newGVK(
		"",
		"v1",
		"ConfigMap",
	),
	newGVK("", "v1", "Service"),
	newGVK("", "v1", "PersistentVolume"),
	newGVK("", "v1", "PersistentVolumeClaim"),
	newGVK(
		"apps",
		"v1",
		"Deployment",
	),
	newGVK("apps", "v1", "DaemonSet"),
	newGVK("apps", "v1", "ReplicaSet"),
	newGVK("batch", "v1", "Job"),
	newGVK("storage.k8s.io", "v1", "StorageClass"),
	newGVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
	newGVK(veleroGroup, "v1", "Backup"),
	newGVK(veleroGroup, "v1", "Restore"),
	newGVK(veleroGroup, "v1", "Schedule"),
	newGVK(veleroGroup, "v1", "BackupStorageLocation"),
	newGVK(veleroGroup, "v1", "VolumeSnapshotLocation"),
	newGVK(veleroGroup, "v1", "BackupRepository"),
	newGVK(veleroGroup, "v1", "DeleteBackupRequest"),
	newGVK(veleroGroup, "v1", "DownloadRequest"),
	newGVK(veleroGroup, "v1", "ServerStatusRequest"),
	newGVK(veleroGroup, "v1", "PodVolumeBackup"),
	newGVK(veleroGroup, "v1", "PodVolumeRestore"),
	newGVK(veleroGroup, "v2alpha1", "DataUpload"),
	newGVK(veleroGroup, "v2alpha1", "DataDownload"),
}

const veleroGroup = "velero.io"

func newGVK(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// clusterScopedKinds are the kinds without a namespace.
var clusterScopedKinds = []string{
	"Namespace", "Node", "PersistentVolume", "StorageClass", "CustomResourceDefinition",
	"VolumeSnapshotClass", "VolumeSnapshotContent", "IngressClass", "ClusterRole", "ClusterRoleBinding",
}

func newServedKind(g schema.GroupVersionKind) *servedKind {
	plural, _ := meta.UnsafeGuessKindToResource(g)
	openShift := strings.HasSuffix(g.Group, ".openshift.io") // its Backup is not Velero's
	return &servedKind{gvk: g, gvr: plural, namespaced: !openShift && !slices.Contains(clusterScopedKinds, g.Kind)}
}

// registerKind registers a kind and returns it. The caller holds the lock.
func (c *Cluster) registerKind(g schema.GroupVersionKind) *servedKind {
	k := newServedKind(g)
	if known := c.kinds[k.gvr]; known != nil {
		return known
	}
	c.kinds[k.gvr] = k
	c.scheme.AddKnownTypeWithName(g, &unstructured.Unstructured{})
	c.scheme.AddKnownTypeWithName(g.GroupVersion().WithKind(g.Kind+"List"), &unstructured.UnstructuredList{})
	return k
}

func (c *Cluster) findKind(r schema.GroupVersionResource) *servedKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[r]
}

var verbs = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}

// resourceList returns the discovery document of a group version, nil if there is none.
func (c *Cluster) resourceList(gv schema.GroupVersion) *metav1.APIResourceList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
	}
	for r, k := range c.kinds {
		if r.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Resource, Kind: k.gvk.Kind, Namespaced: k.namespaced, Verbs: verbs,
		})
		if r.Resource == "pods" {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"},
			})
		}
	}
	if list.APIResources == nil {
		return nil
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return compareStrings(a.Name, b.Name) })
	return list
}

// groupList returns all API groups except the core group.
func (c *Cluster) groupList() *metav1.APIGroupList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := &metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups:   []metav1.APIGroup{},
	}
	versions := map[string][]string{}
	for r := range c.kinds {
		if r.Group != "" && !slices.Contains(versions[r.Group], r.Version) {
			versions[r.Group] = append(versions[r.Group], r.Version)
		}
	}
	for name, found := range versions {
		slices.Sort(found)
		g := metav1.APIGroup{Name: name}
		for _, v := range found {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		list.Groups = append(list.Groups, g)
	}
	slices.SortFunc(list.Groups, func(a, b metav1.APIGroup) int { return compareStrings(a.Name, b.Name) })
	return list
}
