package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind of object that is served.
type kind struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	namespaced bool
}

// always are the kinds that every cluster with Velero serves. Others are served
// when an object of theirs comes.
var always = []schema.GroupVersionKind{
	gvk(
		"",
		"v1",
		"Namespace",
	),
	gvk("", "v1", "Node"),
	gvk("", "v1", "Pod"),
	gvk("", "v1", "Event"),
	gvk("", "v1", "Secret"),
	gvk(
		"",
		"v1",
		"ConfigMap",
	),
	gvk("", "v1", "Service"),
	gvk("", "v1", "PersistentVolume"),
	gvk("", "v1", "PersistentVolumeClaim"),
	gvk(
		"apps",
		"v1",
		"Deployment",
	),
	gvk("apps", "v1", "DaemonSet"),
	gvk("apps", "v1", "ReplicaSet"),
	gvk("batch", "v1", "Job"),
	gvk("storage.k8s.io", "v1", "StorageClass"),
	gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
	gvk(veleroGroup, "v1", "Backup"),
	gvk(veleroGroup, "v1", "Restore"),
	gvk(veleroGroup, "v1", "Schedule"),
	gvk(veleroGroup, "v1", "BackupStorageLocation"),
	gvk(veleroGroup, "v1", "VolumeSnapshotLocation"),
	gvk(veleroGroup, "v1", "BackupRepository"),
	gvk(veleroGroup, "v1", "DeleteBackupRequest"),
	gvk(veleroGroup, "v1", "DownloadRequest"),
	gvk(veleroGroup, "v1", "ServerStatusRequest"),
	gvk(veleroGroup, "v1", "PodVolumeBackup"),
	gvk(veleroGroup, "v1", "PodVolumeRestore"),
	gvk(veleroGroup, "v2alpha1", "DataUpload"),
	gvk(veleroGroup, "v2alpha1", "DataDownload"),
}

const veleroGroup = "velero.io"

func gvk(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// clusterScoped are the kinds without a namespace.
var clusterScoped = []string{
	"Namespace", "Node", "PersistentVolume", "StorageClass", "CustomResourceDefinition",
	"VolumeSnapshotClass", "VolumeSnapshotContent", "IngressClass", "ClusterRole", "ClusterRoleBinding",
}

func kindOf(g schema.GroupVersionKind) *kind {
	plural, _ := meta.UnsafeGuessKindToResource(g)
	openShift := strings.HasSuffix(g.Group, ".openshift.io") // its Backup is not Velero's
	return &kind{gvk: g, gvr: plural, namespaced: !openShift && !slices.Contains(clusterScoped, g.Kind)}
}

// serve makes a kind known. The caller holds the lock.
func (c *Cluster) serve(g schema.GroupVersionKind) *kind {
	k := kindOf(g)
	if known := c.kinds[k.gvr]; known != nil {
		return known
	}
	c.kinds[k.gvr] = k
	c.scheme.AddKnownTypeWithName(g, &unstructured.Unstructured{})
	c.scheme.AddKnownTypeWithName(g.GroupVersion().WithKind(g.Kind+"List"), &unstructured.UnstructuredList{})
	return k
}

func (c *Cluster) kind(r schema.GroupVersionResource) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[r]
}

var verbs = metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}

// resources is what discovery says about a group's version; nil if there is none.
func (c *Cluster) resources(gv schema.GroupVersion) *metav1.APIResourceList {
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
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return compare(a.Name, b.Name) })
	return list
}

// groups are all API groups but the core one.
func (c *Cluster) groups() *metav1.APIGroupList {
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
	slices.SortFunc(list.Groups, func(a, b metav1.APIGroup) int { return compare(a.Name, b.Name) })
	return list
}
