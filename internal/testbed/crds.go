package testbed

import (
	"context"
	"fmt"
	"slices"
	"time"

	crdsv1 "github.com/vmware-tanzu/velero/config/crd/v1/crds"
	crdsv2alpha1 "github.com/vmware-tanzu/velero/config/crd/v2alpha1/crds"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Scheme knows Kubernetes' own kinds, Velero's and CustomResourceDefinitions.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(veleroapi.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}

// VeleroScheme knows Velero's types and those of Kubernetes that veltui reads.
func VeleroScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, authorizationv1.AddToScheme, authenticationv1.AddToScheme,
		veleroapi.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}

// InstallCRDs creates the CRDs that ship in the Velero module, or only those
// named by their plurals (such as "backups"), and waits until they are served.
func InstallCRDs(ctx context.Context, cfg *rest.Config, only ...string) error {
	return InstallDefinitions(ctx, cfg, loadCRDs(only...))
}

// InstallOpenCRDs is [InstallCRDs] with schemas that let every object through.
func InstallOpenCRDs(ctx context.Context, cfg *rest.Config, only ...string) error {
	crds := loadCRDs(only...)
	yes := true
	for _, crd := range crds {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
				Type:                   "object",
				XPreserveUnknownFields: &yes,
			}
		}
	}
	return InstallDefinitions(ctx, cfg, crds)
}

func loadCRDs(only ...string) []*apiextensionsv1.CustomResourceDefinition {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range slices.Concat(crdsv1.CRDs, crdsv2alpha1.CRDs) {
		if len(only) == 0 || slices.Contains(only, crd.Spec.Names.Plural) {
			crds = append(crds, crd.DeepCopy())
		}
	}
	return crds
}

// InstallDefinitions creates CRDs, those of another Velero for instance, and waits
// until they are served.
func InstallDefinitions(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{Scheme: Scheme(), CRDs: crds, MaxTime: startTimeout})
	if err != nil {
		return fmt.Errorf("installing Velero's CRDs: %w", err)
	}
	return waitUntilServed(ctx, cfg, crds)
}

// waitUntilServed waits until every resource answers. Discovery names one when its
// definition is established, but its own address may still say 404 for a moment.
func waitUntilServed(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			path := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
			err := wait.PollUntilContextTimeout(
				ctx,
				20*time.Millisecond,
				startTimeout,
				true,
				func(ctx context.Context) (bool, error) {
					err := api.RESTClient().Get().AbsPath(path).Param("limit", "1").Do(ctx).Error()
					return err == nil, client.IgnoreNotFound(err)
				},
			)
			if err != nil {
				return fmt.Errorf("waiting for %s: %w", path, err)
			}
		}
	}
	return nil
}
