package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/sanitize"
)

// The resources that surround a restore.
const (
	Namespaces        = "namespaces"
	StorageClasses    = "storageclasses.storage.k8s.io"
	SnapshotClasses   = "volumesnapshotclasses.snapshot.storage.k8s.io"
	Drivers           = "csidrivers.storage.k8s.io"
	Quotas            = "resourcequotas"
	LimitRanges       = "limitranges"
	Services          = "services"
	ConfigMaps        = "configmaps"
	PersistentVolumes = "persistentvolumes"
	SnapshotLocations = "volumesnapshotlocations.velero.io"
	Validating        = "validatingwebhookconfigurations.admissionregistration.k8s.io"
	Mutating          = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// Around says which surroundings are wanted; nothing else is asked for.
type Around struct {
	Storage, Snapshots bool     // Storage asks for storage classes, Snapshots for those of snapshots, both for CSI drivers
	Velero             string   // the namespace of Velero, whose ConfigMaps configure restore actions
	NodePorts          bool     // NodePorts asks for the Services of the whole cluster
	Within             []string // the namespaces whose quotas and limit ranges are wanted
	WebhookServices    []string // further Services that are looked for, as "namespace/name"
	Volumes            bool     // Volumes asks for the PersistentVolumes of the whole cluster
	Locations          bool     // Locations asks for Velero's VolumeSnapshotLocations
	Configs            []string // further ConfigMaps of Velero's namespace
}

// Surroundings are what a restore meets besides the objects that it brings.
type Surroundings struct {
	Namespaces      map[string]Namespace
	StorageClasses  map[string]bool     // whether it is the default
	SnapshotClasses map[string]string   // name to driver
	ClassMap        map[string]string   // what Velero makes of storage classes, from one name to another
	PluginConfigs   map[string][]string // the ConfigMaps of Velero's actions by label, as [ChangesClasses]; sorted
	Drivers         map[string]bool
	Quotas          []corev1.ResourceQuota
	LimitRanges     []corev1.LimitRange
	NodePorts       map[int64]string // the Services that hold them, as "namespace/name"
	Webhooks        []Webhook
	Services        map[string]bool // Services tells of each Service behind a webhook whether it is there
	Volumes         map[string]Volume
	Locations       map[string]bool // Velero's VolumeSnapshotLocations
	// the data of the ConfigMaps asked for by name; nil for one that is missing
	Configs map[string]map[string]string
	NotSeen []NotSeen // what could not be looked at, sorted by resource and namespace
}

// Namespace is one of the target.
type Namespace struct {
	Terminating bool
	Labels      map[string]string
}

// Webhook is one admission webhook with a Service behind it.
type Webhook struct {
	Configuration string // as "validatingwebhookconfigurations.admissionregistration.k8s.io/NAME"
	Name          string
	Service       string // "namespace/name"
	Fails         bool   // true where requests fail while it does not answer
	Rules         []admissionv1.RuleWithOperations
	// Namespaces, if not nil, selects the namespaces that it is about, and Objects
	// is true where labels or match conditions select objects, too.
	Namespaces *metav1.LabelSelector
	Objects    bool
}

// Saw reports whether a resource was looked at in a namespace, or in the whole cluster.
func (s *Surroundings) Saw(resource, namespace string) bool {
	return !slices.ContainsFunc(s.NotSeen, func(n NotSeen) bool {
		return n.Resource == resource && (n.Namespace == namespace || n.Namespace == "")
	})
}

// Why is why a resource was not looked at in a namespace, empty if it was.
func (s *Surroundings) Why(resource, namespace string) string {
	for _, n := range s.NotSeen {
		if n.Resource == resource && n.Namespace == namespace {
			return n.Why
		}
	}
	return ""
}

// maxKept is how many objects of a kind are kept.
const maxKept = 100_000

// Surroundings looks at what surrounds a restore, and notes what it cannot see. Its error is ctx's.
func (r *Reader) Surroundings(ctx context.Context, served *Served, want Around) (*Surroundings, error) {
	s := &Surroundings{
		Namespaces: map[string]Namespace{}, StorageClasses: map[string]bool{}, SnapshotClasses: map[string]string{},
		Drivers: map[string]bool{}, NodePorts: map[int64]string{}, Services: map[string]bool{},
		Volumes: map[string]Volume{}, Locations: map[string]bool{}, Configs: map[string]map[string]string{},
	}
	a := &around{found: s}
	a.Lists = r.Lists(served, a.note)
	a.lists(ctx, want)
	if err := a.Wait(ctx); err != nil {
		return nil, err
	}
	a.services(ctx, want)
	if err := a.Wait(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(s.NotSeen, func(x, y NotSeen) int {
		return strings.Compare(x.Resource+"/"+x.Namespace, y.Resource+"/"+y.Namespace)
	})
	slices.SortStableFunc(s.Webhooks, func(x, y Webhook) int {
		return strings.Compare(x.Configuration+"/"+x.Name, y.Configuration+"/"+y.Name)
	})
	return s, nil
}

type around struct {
	*Lists
	found *Surroundings
}

// each keeps of the objects of a resource at most maxKept.
func each[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, a *around, resource, namespace string, take func(*Surroundings, P)) {
	kept := 0
	Each(ctx, a.Lists, resource, namespace, "", func(o P) {
		if kept++; kept <= maxKept {
			take(a.found, o)
		} else if kept == maxKept+1 {
			a.note(resource, namespace, errTooManyObjects)
		}
	})
}

func (a *around) note(resource, namespace string, err error) {
	a.Log.Info("looking at the target", "resource", resource, "namespace", namespace, "error", err)
	a.found.NotSeen = append(a.found.NotSeen, NotSeen{resource, namespace, err.Error()})
}

// refuse notes what is not looked at at all.
func (a *around) refuse(ctx context.Context, resource, namespace string, why error) {
	a.Start(ctx, resource, namespace, func() (func(), error) { return nil, why })
}

func (a *around) lists(ctx context.Context, want Around) {
	each(ctx, a, Namespaces, "", func(s *Surroundings, n *corev1.Namespace) {
		s.Namespaces[n.Name] = Namespace{
			n.DeletionTimestamp != nil || n.Status.Phase == corev1.NamespaceTerminating,
			n.Labels,
		}
	})
	if want.Storage {
		each(ctx, a, StorageClasses, "", func(s *Surroundings, c *storagev1.StorageClass) {
			s.StorageClasses[c.Name] = isDefaultClass(c)
		})
	}
	if want.Velero != "" {
		a.pluginConfigs(ctx, want.Velero)
		for _, name := range want.Configs {
			a.config(ctx, want.Velero, name)
		}
	}
	if want.Volumes {
		each(ctx, a, PersistentVolumes, "", takeVolume)
	}
	if want.Locations {
		each(
			ctx,
			a,
			SnapshotLocations,
			want.Velero,
			func(s *Surroundings, l *metav1.PartialObjectMetadata) { s.Locations[l.Name] = true },
		)
	}
	if want.Storage || want.Snapshots {
		each(ctx, a, Drivers, "", func(s *Surroundings, d *storagev1.CSIDriver) { s.Drivers[d.Name] = true })
	}
	if want.Snapshots {
		each(
			ctx,
			a,
			SnapshotClasses,
			"",
			func(s *Surroundings, c *SnapshotClass) { s.SnapshotClasses[c.Name] = c.Driver },
		)
	}
	if want.NodePorts {
		each(ctx, a, Services, "", takePorts)
	}
	for _, namespace := range want.Within[:min(len(want.Within), mostOneByOne)] {
		each(
			ctx,
			a,
			Quotas,
			namespace,
			func(s *Surroundings, q *corev1.ResourceQuota) { s.Quotas = append(s.Quotas, *q) },
		)
		each(
			ctx,
			a,
			LimitRanges,
			namespace,
			func(s *Surroundings, l *corev1.LimitRange) { s.LimitRanges = append(s.LimitRanges, *l) },
		)
	}
	for _, namespace := range want.Within[min(len(want.Within), mostOneByOne):] {
		a.refuse(ctx, Quotas, namespace, errTooManyNamespaces)
		a.refuse(ctx, LimitRanges, namespace, errTooManyNamespaces)
	}
	for _, resource := range []string{Validating, Mutating} { // one type fits what is read of both
		each(ctx, a, resource, "", func(s *Surroundings, c *admissionv1.ValidatingWebhookConfiguration) {
			for i := range c.Webhooks {
				s.addWebhook(resource+"/"+c.Name, &c.Webhooks[i])
			}
		})
	}
}

// ChangesClasses is the label of the ConfigMap by which Velero changes storage classes
// (pkg/restore/actions/change_storageclass_action.go).
const ChangesClasses = "velero.io/change-storage-class"

// pluginConfigs finds the ConfigMaps of restore actions (pkg/plugin/framework/common/plugin_config.go).
func (a *around) pluginConfigs(ctx context.Context, namespace string) {
	a.Start(ctx, ConfigMaps, "", func() (func(), error) {
		var found client.ListOf[corev1.ConfigMap]
		err := a.client.ListAny(
			ctx,
			corev1.SchemeGroupVersion.WithResource(ConfigMaps),
			namespace,
			metav1.ListOptions{LabelSelector: "velero.io/plugin-config"},
			&found,
		)
		if err != nil {
			return nil, safe(err)
		}
		return func() { a.found.addConfigs(found.Items) }, nil
	})
}

func (s *Surroundings) addConfigs(configs []corev1.ConfigMap) {
	s.PluginConfigs = map[string][]string{}
	for i := range configs {
		sanitize.Object(&configs[i])
		for action, kind := range configs[i].Labels {
			if kind == "RestoreItemAction" {
				s.PluginConfigs[action] = append(s.PluginConfigs[action], configs[i].Name)
			}
			if kind == "RestoreItemAction" && action == ChangesClasses {
				s.ClassMap = configs[i].Data
			}
		}
	}
	for _, names := range s.PluginConfigs {
		slices.Sort(names)
	}
	if len(s.PluginConfigs[ChangesClasses]) > 1 { // Velero has an error for each claim
		s.ClassMap = nil
	}
}

// services looks for the Services behind webhooks, by name.
func (a *around) services(ctx context.Context, want Around) {
	asked := map[string]bool{}
	for _, name := range want.WebhookServices {
		asked[name] = true
	}
	for _, w := range a.found.Webhooks {
		asked[w.Service] = true
	}
	names := slices.Sorted(maps.Keys(asked))
	for _, name := range names[min(len(names), mostOneByOne):] {
		namespace, _, _ := strings.Cut(name, "/")
		a.refuse(ctx, Services, namespace, errTooManyServices)
	}
	for _, name := range names[:min(len(names), mostOneByOne)] {
		namespace, service, _ := strings.Cut(name, "/")
		onePage(
			ctx,
			a.Lists,
			Services,
			namespace,
			"v1",
			metav1.ListOptions{FieldSelector: "metadata.name=" + service},
			func(found []metav1.PartialObjectMetadata) {
				a.found.Services[name] = len(found) > 0
			},
		)
	}
}

var (
	errTooManyNamespaces = fmt.Errorf("veltui looks at the quotas of at most %d namespaces", mostOneByOne)
	errTooManyObjects    = fmt.Errorf("veltui keeps at most %d of them", maxKept)
	errTooManyServices   = fmt.Errorf("veltui looks for at most %d Services of webhooks", mostOneByOne)
)

// SnapshotClass is a VolumeSnapshotClass.
type SnapshotClass struct {
	metav1.ObjectMeta `       json:"metadata"`
	Driver            string `json:"driver"`
}

// isDefaultClass is how Kubernetes finds the class of claims that name none.
func isDefaultClass(c *storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

func takePorts(s *Surroundings, service *corev1.Service) {
	name := service.Namespace + "/" + service.Name
	if service.Spec.HealthCheckNodePort > 0 {
		s.NodePorts[int64(service.Spec.HealthCheckNodePort)] = name
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort > 0 {
			s.NodePorts[int64(port.NodePort)] = name
		}
	}
}

func (s *Surroundings) addWebhook(configuration string, from *admissionv1.ValidatingWebhook) {
	service := from.ClientConfig.Service
	if service == nil {
		return
	}
	w := Webhook{
		Configuration: configuration,
		Name:          from.Name,
		Service:       service.Namespace + "/" + service.Name,
		Rules:         from.Rules,
		Fails:         from.FailurePolicy == nil || *from.FailurePolicy == admissionv1.Fail,
		Objects:       selects(from.ObjectSelector) || len(from.MatchConditions) > 0,
	}
	if selects(from.NamespaceSelector) {
		w.Namespaces = from.NamespaceSelector
	}
	s.Webhooks = append(s.Webhooks, w)
}

func selects(s *metav1.LabelSelector) bool {
	return s != nil && (len(s.MatchLabels) > 0 || len(s.MatchExpressions) > 0)
}

// Version is the API version of a resource that the cluster prefers, empty if it does not serve it.
func (s *Served) Version(resource string) string { return s.kinds[resource].Version }

// Versions asks for all API versions of each resource, without groups that do not answer wholly.
func (r *Reader) Versions(ctx context.Context) (map[string][]string, error) {
	kinds, err := r.client.Kinds(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, safe(err)
	}
	silent := map[string]bool{}
	for version := range kinds.Silent {
		silent[version.Group] = true
	}
	versions := map[string][]string{}
	for version, served := range resources(kinds.Lists) {
		if resource := version.WithResource(served.Name).GroupResource().String(); !silent[version.Group] {
			versions[resource] = append(versions[resource], version.Version)
		}
	}
	return versions, nil
}
