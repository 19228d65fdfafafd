package testbed

import (
	"context"
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"

	crdsv1 "github.com/vmware-tanzu/velero/config/crd/v1/crds"
	crdsv2alpha1 "github.com/vmware-tanzu/velero/config/crd/v2alpha1/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Scheme knows Kubernetes' own kinds, Velero's and CustomResourceDefinitions.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(velerov1.AddToScheme(s))
	utilruntime.Must(velerov2alpha1.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}

// InstallCRDs creates the CRDs that ship in the Velero module, or only those
// named by their plurals (such as "backups"), and waits until they are served.
func InstallCRDs(ctx context.Context, cfg *rest.Config, only ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range slices.Concat(crdsv1.CRDs, crdsv2alpha1.CRDs) {
		if len(only) == 0 || slices.Contains(only, crd.Spec.Names.Plural) {
			crds = append(crds, crd.DeepCopy())
		}
	}
	_, err := envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{Scheme: Scheme(), CRDs: crds, MaxTime: startTimeout})
	if err != nil {
		return fmt.Errorf("installing Velero's CRDs: %w", err)
	}
	return nil
}
