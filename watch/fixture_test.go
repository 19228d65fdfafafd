package watch

import (
	"context"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type (
	rbacRule   = rbacv1.PolicyRule
	restConfig = rest.Config
)

func roleFor(namespace, user, name string, rules []rbacRule) (role, binding client.Object) {
	return &rbacv1.Role{ObjectMeta: named(namespace, name), Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: named(namespace, name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		}
}

// grant gives a user more rights and returns the binding.
func (c *cluster) grant(namespace, user string, rules ...rbacRule) client.Object {
	c.t.Helper()
	role, binding := roleFor(namespace, user, user+"-more", rules)
	c.create(role, binding)
	return binding
}

// removeCRDs deletes Velero's CRDs, or those with the given plurals, waits
// until they are gone, and puts all back when the test ends.
func (c *cluster) removeCRDs(plurals ...string) {
	c.t.Helper()
	c.t.Cleanup(func() {
		if err := testbed.InstallCRDs(context.Background(), c.RESTConfig()); err != nil {
			c.t.Error(err)
		}
	})
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Items {
		crd := &list.Items[i]
		if crd.Spec.Group != veleroapi.GroupVersion.Group ||
			len(plurals) > 0 && !slices.Contains(plurals, crd.Spec.Names.Plural) {
			continue
		}
		if err := c.Delete(c.t.Context(), crd); err != nil {
			c.t.Fatal(err)
		}
		c.waitUntilGone(crd)
	}
}

func (c *cluster) waitUntilGone(o client.Object) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(
		c.t.Context(),
		50*time.Millisecond,
		enough,
		true,
		func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	)
	if err != nil {
		c.t.Fatalf("waiting until %s is gone: %v", o.GetName(), err)
	}
}

// forgetServers deletes the pods of every Velero server, by which the search finds a Velero without a location.
func (c *cluster) forgetServers() {
	c.t.Helper()
	for _, selector := range serverSelectors {
		var list corev1.PodList
		name, value, _ := strings.Cut(selector, "=")
		if err := c.List(c.t.Context(), &list, client.MatchingLabels{name: value}); err != nil {
			c.t.Fatal(err)
		}
		for i := range list.Items {
			err := c.Delete(c.t.Context(), &list.Items[i], client.GracePeriodSeconds(0))
			if client.IgnoreNotFound(err) != nil {
				c.t.Fatal(err)
			}
			c.waitUntilGone(&list.Items[i])
		}
	}
}

// forgetLocations deletes every BackupStorageLocation, which is what the
// search for Velero goes by.
func (c *cluster) forgetLocations() {
	c.t.Helper()
	var list veleroapi.BackupStorageLocationList
	if err := c.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Items {
		if err := c.Delete(c.t.Context(), &list.Items[i]); err != nil {
			c.t.Fatal(err)
		}
		c.waitUntilGone(&list.Items[i])
	}
}

// serviceAccount makes one that may read everything of Velero's in its
// namespace, and returns a configuration with its token.
func (c *cluster) serviceAccount(namespace, name string) *rest.Config {
	c.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: named(namespace, name)}
	role, binding := roleFor(
		namespace,
		"",
		name,
		[]rbacRule{mayRead(veleroapi.GroupVersion.Group, "*"), mayRead("", "pods")},
	)
	binding.(*rbacv1.RoleBinding).Subjects = []rbacv1.Subject{
		{Kind: "ServiceAccount", Namespace: namespace, Name: name},
	}
	c.create(account, role, binding)
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(c.t.Context(), account, token); err != nil {
		c.t.Fatalf("asking for a token: %v", err)
	}
	cfg := rest.AnonymousClientConfig(c.RESTConfig())
	cfg.BearerToken = token.Status.Token
	return cfg
}
