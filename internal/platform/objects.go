package platform

// ConfigMaps is the resource of the objects that hold nothing but what their maker writes.
const ConfigMaps = "configmaps"

const (
	serviceAccounts = "serviceaccounts"
	roleBindings    = "rolebindings.rbac.authorization.k8s.io"
)

// The makers of objects.
const (
	Kubernetes = "Kubernetes"
	OpenShift  = "OpenShift"
	Istio      = "Istio"
)

// makers are those who make an object, by resource and name, in each namespace.
var makers = map[[2]string]string{
	{ConfigMaps, "kube-root-ca.crt"}:         Kubernetes,
	{ConfigMaps, "openshift-service-ca.crt"}: OpenShift,
	{ConfigMaps, "istio-ca-root-cert"}:       Istio,
	{serviceAccounts, "default"}:             Kubernetes,
	{serviceAccounts, "builder"}:             OpenShift,
	{serviceAccounts, "deployer"}:            OpenShift,
	{roleBindings, "system:image-pullers"}:   OpenShift,
	{roleBindings, "system:image-builders"}:  OpenShift,
	{roleBindings, "system:deployers"}:       OpenShift,
}

// MakerOf returns who makes an object in each namespace, empty for an object that somebody else makes. A user may add
// to these objects, except to the ConfigMaps.
func MakerOf(resource, name string) string { return makers[[2]string{resource, name}] }

// MakesConfigMap reports whether an object is a ConfigMap that somebody makes in each namespace, and writes alone.
func MakesConfigMap(resource, name string) bool {
	return resource == ConfigMaps && MakerOf(resource, name) != ""
}

// rewritten are resources that the cluster keeps writing to.
var rewritten = map[string]bool{
	"leases.coordination.k8s.io":      true,
	"endpoints":                       true,
	"endpointslices.discovery.k8s.io": true,
	"events":                          true,
	"events.events.k8s.io":            true,
}

// Rewrites reports whether the cluster keeps writing to the objects of a resource, so that Velero finds each different,
// even where the cluster made it for what Velero just restored.
func Rewrites(resource string) bool { return rewritten[resource] }
