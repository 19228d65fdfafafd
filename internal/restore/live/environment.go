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

// The resources in the environment of a restore.
const (
	Namespaces         = "namespaces"
	StorageClasses     = "storageclasses.storage.k8s.io"
	SnapshotClasses    = "volumesnapshotclasses.snapshot.storage.k8s.io"
	CSIDrivers         = "csidrivers.storage.k8s.io"
	Quotas             = "resourcequotas"
	LimitRanges        = "limitranges"
	Services           = "services"
	ConfigMaps         = "configmaps"
	PersistentVolumes  = "persistentvolumes"
	SnapshotLocations  = "volumesnapshotlocations.velero.io"
	ValidatingWebhooks = "validatingwebhookconfigurations.admissionregistration.k8s.io"
	MutatingWebhooks   = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// EnvironmentQuery says which parts of the environment are wanted; nothing else is requested.
type EnvironmentQuery struct {
	// StorageClasses asks for storage classes, SnapshotClasses for snapshot classes, both for CSI drivers
	StorageClasses, SnapshotClasses bool
	VeleroNamespace                 string   // the namespace of Velero, whose ConfigMaps configure restore actions
	NodePorts                       bool     // NodePorts asks for the Services of the whole cluster
	Namespaces                      []string // the namespaces whose quotas and limit ranges are wanted
	WebhookServices                 []string // further Services to look for, as "namespace/name"
	Volumes                         bool     // Volumes asks for the PersistentVolumes of the whole cluster
	SnapshotLocations               bool     // SnapshotLocations asks for Velero's VolumeSnapshotLocations
	ConfigMapNames                  []string // further ConfigMaps of Velero's namespace
}

// Environment is what a restore meets besides the objects that it brings.
type Environment struct {
	Namespaces      map[string]Namespace
	StorageClasses  map[string]bool   // name to whether it is the default
	SnapshotClasses map[string]string // name to driver
	StorageClassMap map[string]string // the storage classes that Velero replaces, from old to new name
	// the ConfigMaps of Velero's actions by label, as [ChangeStorageClassLabel]; sorted
	PluginConfigs     map[string][]string
	Drivers           map[string]bool
	Quotas            []corev1.ResourceQuota
	LimitRanges       []corev1.LimitRange
	NodePorts         map[int64]string // the Services that use the ports, as "namespace/name"
	Webhooks          []Webhook
	Services          map[string]bool // whether each Service behind a webhook exists
	Volumes           map[string]VolumeSummary
	SnapshotLocations map[string]bool // Velero's VolumeSnapshotLocations
	// the data of the ConfigMaps requested by name; nil for a missing one
	ConfigMapData map[string]map[string]string
	Unchecked     []Unchecked // what could not be checked, sorted by resource and namespace
}

// Namespace is a namespace of the target.
type Namespace struct {
	Terminating bool
	Labels      map[string]string
}

// Webhook is one admission webhook.
type Webhook struct {
	Configuration string // as "validatingwebhookconfigurations.admissionregistration.k8s.io/NAME"
	Name          string
	Service       string // "namespace/name"; empty for a webhook at a URL
	FailsClosed   bool   // true where requests fail while it does not answer
	Rules         []admissionv1.RuleWithOperations
	// MatchesExactly is true where the rules apply only to requests in the API versions that they name, not to other
	// versions of the same objects.
	MatchesExactly bool
	// NamespaceSelector, if not nil, selects the namespaces that the webhook applies to; Objects is true where labels or
	// match conditions select objects, too.
	NamespaceSelector *metav1.LabelSelector
	SelectsObjects    bool
}

// WasChecked reports whether a resource was checked in a namespace, or in the whole cluster.
func (s *Environment) WasChecked(resource, namespace string) bool {
	return !slices.ContainsFunc(s.Unchecked, func(n Unchecked) bool {
		return n.Resource == resource && (n.Namespace == namespace || n.Namespace == "")
	})
}

// UncheckedReason returns why a resource was not checked in a namespace, empty if it was.
func (s *Environment) UncheckedReason(resource, namespace string) string {
	for _, n := range s.Unchecked {
		if n.Resource == resource && n.Namespace == namespace {
			return n.Why
		}
	}
	return ""
}

// maxKeptObjects is how many objects of a kind are kept.
const maxKeptObjects = 100_000

// FetchEnvironment reads the environment of a restore, and notes what it cannot see. Its error is ctx's.
func (r *Reader) FetchEnvironment(
	ctx context.Context,
	served *ServedKinds,
	want EnvironmentQuery,
) (*Environment, error) {
	s := &Environment{
		Namespaces:        map[string]Namespace{},
		StorageClasses:    map[string]bool{},
		SnapshotClasses:   map[string]string{},
		Drivers:           map[string]bool{},
		NodePorts:         map[int64]string{},
		Services:          map[string]bool{},
		Volumes:           map[string]VolumeSummary{},
		SnapshotLocations: map[string]bool{},
		ConfigMapData:     map[string]map[string]string{},
	}
	a := &environmentReader{environment: s}
	a.ListPool = r.NewListPool(served, a.addUnchecked)
	a.startLists(ctx, want)
	if err := a.Wait(ctx); err != nil {
		return nil, err
	}
	a.startServices(ctx, want)
	if err := a.Wait(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(s.Unchecked, func(x, y Unchecked) int {
		return strings.Compare(x.Resource+"/"+x.Namespace, y.Resource+"/"+y.Namespace)
	})
	slices.SortStableFunc(s.Webhooks, func(x, y Webhook) int {
		return strings.Compare(x.Configuration+"/"+x.Name, y.Configuration+"/"+y.Name)
	})
	return s, nil
}

type environmentReader struct {
	*ListPool
	environment *Environment
}

// collectObjects collects at most maxKeptObjects objects of a resource.
func collectObjects[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, a *environmentReader, resource, namespace string, take func(*Environment, P)) {
	kept := 0
	StartVisit(ctx, a.ListPool, resource, namespace, "", func(o P) {
		if kept++; kept <= maxKeptObjects {
			take(a.environment, o)
		} else if kept == maxKeptObjects+1 {
			a.addUnchecked(resource, namespace, errTooManyObjects)
		}
	})
}

func (a *environmentReader) addUnchecked(resource, namespace string, err error) {
	a.Log.Info("looking at the target", "resource", resource, "namespace", namespace, "error", err)
	a.environment.Unchecked = append(a.environment.Unchecked, Unchecked{resource, namespace, err.Error()})
}

// addRefusedList notes what is not listed at all.
func (a *environmentReader) addRefusedList(ctx context.Context, resource, namespace string, why error) {
	a.StartList(ctx, resource, namespace, func() (func(), error) { return nil, why })
}

func (a *environmentReader) startLists(ctx context.Context, want EnvironmentQuery) {
	collectObjects(ctx, a, Namespaces, "", func(s *Environment, n *corev1.Namespace) {
		s.Namespaces[n.Name] = Namespace{
			n.DeletionTimestamp != nil || n.Status.Phase == corev1.NamespaceTerminating,
			n.Labels,
		}
	})
	if want.StorageClasses {
		collectObjects(ctx, a, StorageClasses, "", func(s *Environment, c *storagev1.StorageClass) {
			s.StorageClasses[c.Name] = isDefaultClass(c)
		})
	}
	if want.VeleroNamespace != "" {
		a.startPluginConfigs(ctx, want.VeleroNamespace)
		for _, name := range want.ConfigMapNames {
			a.startConfig(ctx, want.VeleroNamespace, name)
		}
	}
	if want.Volumes {
		collectObjects(ctx, a, PersistentVolumes, "", addVolume)
	}
	if want.SnapshotLocations {
		collectObjects(
			ctx,
			a,
			SnapshotLocations,
			want.VeleroNamespace,
			func(s *Environment, l *metav1.PartialObjectMetadata) { s.SnapshotLocations[l.Name] = true },
		)
	}
	if want.StorageClasses || want.SnapshotClasses {
		collectObjects(ctx, a, CSIDrivers, "", func(s *Environment, d *storagev1.CSIDriver) { s.Drivers[d.Name] = true })
	}
	if want.SnapshotClasses {
		collectObjects(
			ctx,
			a,
			SnapshotClasses,
			"",
			func(s *Environment, c *SnapshotClass) { s.SnapshotClasses[c.Name] = c.Driver },
		)
	}
	if want.NodePorts {
		collectObjects(ctx, a, Services, "", addNodePorts)
	}
	for _, namespace := range want.Namespaces[:min(len(want.Namespaces), maxNamespaces)] {
		collectObjects(
			ctx,
			a,
			Quotas,
			namespace,
			func(s *Environment, q *corev1.ResourceQuota) { s.Quotas = append(s.Quotas, *q) },
		)
		collectObjects(
			ctx,
			a,
			LimitRanges,
			namespace,
			func(s *Environment, l *corev1.LimitRange) { s.LimitRanges = append(s.LimitRanges, *l) },
		)
	}
	for _, namespace := range want.Namespaces[min(len(want.Namespaces), maxNamespaces):] {
		a.addRefusedList(ctx, Quotas, namespace, errTooManyNamespaces)
		a.addRefusedList(ctx, LimitRanges, namespace, errTooManyNamespaces)
	}
	// one type fits the fields that are read of both
	for _, resource := range []string{ValidatingWebhooks, MutatingWebhooks} {
		collectObjects(ctx, a, resource, "", func(s *Environment, c *admissionv1.ValidatingWebhookConfiguration) {
			for i := range c.Webhooks {
				s.addWebhook(resource+"/"+c.Name, &c.Webhooks[i])
			}
		})
	}
}

// ChangeStorageClassLabel is the label of the ConfigMap by which Velero changes storage classes
// (pkg/restore/actions/change_storageclass_action.go).
const ChangeStorageClassLabel = "velero.io/change-storage-class"

// startPluginConfigs finds the ConfigMaps of restore actions (pkg/plugin/framework/common/plugin_config.go).
func (a *environmentReader) startPluginConfigs(ctx context.Context, namespace string) {
	a.StartList(ctx, ConfigMaps, "", func() (func(), error) {
		var found client.ListOf[corev1.ConfigMap]
		err := a.client.ListInto(
			ctx,
			corev1.SchemeGroupVersion.WithResource(ConfigMaps),
			namespace,
			metav1.ListOptions{LabelSelector: "velero.io/plugin-config"},
			&found,
		)
		if err != nil {
			return nil, sanitizedError(err)
		}
		return func() { a.environment.addPluginConfigs(found.Items) }, nil
	})
}

func (s *Environment) addPluginConfigs(configs []corev1.ConfigMap) {
	s.PluginConfigs = map[string][]string{}
	for i := range configs {
		sanitize.Object(&configs[i])
		for action, kind := range configs[i].Labels {
			if kind == "RestoreItemAction" {
				s.PluginConfigs[action] = append(s.PluginConfigs[action], configs[i].Name)
			}
			if kind == "RestoreItemAction" && action == ChangeStorageClassLabel {
				s.StorageClassMap = configs[i].Data
			}
		}
	}
	for _, names := range s.PluginConfigs {
		slices.Sort(names)
	}
	if len(s.PluginConfigs[ChangeStorageClassLabel]) > 1 { // Velero reports an error for each claim
		s.StorageClassMap = nil
	}
}

// startServices looks up the Services behind webhooks, by name.
func (a *environmentReader) startServices(ctx context.Context, want EnvironmentQuery) {
	asked := map[string]bool{}
	for _, name := range want.WebhookServices {
		asked[name] = true
	}
	for _, w := range a.environment.Webhooks {
		if w.Service != "" {
			asked[w.Service] = true
		}
	}
	names := slices.Sorted(maps.Keys(asked))
	for _, name := range names[min(len(names), maxNamespaces):] {
		namespace, _, _ := strings.Cut(name, "/")
		a.addRefusedList(ctx, Services, namespace, errTooManyServices)
	}
	for _, name := range names[:min(len(names), maxNamespaces)] {
		namespace, service, _ := strings.Cut(name, "/")
		startPage(
			ctx,
			a.ListPool,
			Services,
			namespace,
			"v1",
			metav1.ListOptions{FieldSelector: "metadata.name=" + service},
			func(found []metav1.PartialObjectMetadata) {
				a.environment.Services[name] = len(found) > 0
			},
		)
	}
}

var (
	errTooManyNamespaces = fmt.Errorf("veltui looks at the quotas of at most %d namespaces", maxNamespaces)
	errTooManyObjects    = fmt.Errorf("veltui keeps at most %d of them", maxKeptObjects)
	errTooManyServices   = fmt.Errorf("veltui looks for at most %d Services of webhooks", maxNamespaces)
)

// SnapshotClass is a VolumeSnapshotClass.
type SnapshotClass struct {
	metav1.ObjectMeta `       json:"metadata"`
	Driver            string `json:"driver"`
}

// isDefaultClass reports whether a class is what Kubernetes gives to claims that name none.
func isDefaultClass(c *storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

func addNodePorts(s *Environment, service *corev1.Service) {
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

func (s *Environment) addWebhook(configuration string, from *admissionv1.ValidatingWebhook) {
	s.Webhooks = append(s.Webhooks, NewWebhook(configuration, from))
}

// NewWebhook returns what matters of a webhook; configuration is its resource and name.
func NewWebhook(configuration string, from *admissionv1.ValidatingWebhook) Webhook {
	w := Webhook{
		Configuration:  configuration,
		Name:           from.Name,
		Rules:          from.Rules,
		FailsClosed:    from.FailurePolicy == nil || *from.FailurePolicy == admissionv1.Fail,
		MatchesExactly: from.MatchPolicy != nil && *from.MatchPolicy == admissionv1.Exact,
		SelectsObjects: HasRequirements(from.ObjectSelector) || len(from.MatchConditions) > 0,
	}
	if service := from.ClientConfig.Service; service != nil {
		w.Service = service.Namespace + "/" + service.Name
	}
	if HasRequirements(from.NamespaceSelector) {
		w.NamespaceSelector = from.NamespaceSelector
	}
	return w
}

// HasRequirements reports whether a selector selects less than everything.
func HasRequirements(s *metav1.LabelSelector) bool {
	return s != nil && (len(s.MatchLabels) > 0 || len(s.MatchExpressions) > 0)
}

// PreferredVersion returns the API version of a resource that the cluster prefers, empty if it does not serve the
// resource.
func (s *ServedKinds) PreferredVersion(resource string) string { return s.kinds[resource].Version }

// FetchVersions returns all API versions of each resource, without groups that do not answer completely.
func (r *Reader) FetchVersions(ctx context.Context) (map[string][]string, error) {
	kinds, err := r.client.DiscoverKinds(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, sanitizedError(err)
	}
	silent := map[string]bool{}
	for version := range kinds.Unanswered {
		silent[version.Group] = true
	}
	versions := map[string][]string{}
	for version, served := range iterateResources(kinds.ResourceLists) {
		if resource := version.WithResource(served.Name).GroupResource().String(); !silent[version.Group] {
			versions[resource] = append(versions[resource], version.Version)
		}
	}
	return versions, nil
}
