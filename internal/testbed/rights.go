package testbed

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// EnsureNamespace makes a namespace, unless it is there.
func (c *ControlPlane) EnsureNamespace(ctx context.Context, name string) error {
	k8s, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	_, err = k8s.CoreV1().
		Namespaces().
		Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", name, err)
	}
	return nil
}

// AddUserWithRules is [ControlPlane.AddUser] with rights in one namespace, by a Role and a
// RoleBinding that are named after the user. Called again it replaces the rights.
// It waits until the API server grants them: RBAC hears of a binding a moment
// after it was made.
func (c *ControlPlane) AddUserWithRules(
	ctx context.Context,
	user, namespace string,
	rules ...rbacv1.PolicyRule,
) (*rest.Config, error) {
	k8s, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: rules}
	_, err = k8s.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = k8s.RbacV1().Roles(namespace).Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("making the role of %s: %w", user, err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err = k8s.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("binding the role of %s: %w", user, err)
	}
	for _, rule := range rules {
		if err := waitUntilGranted(ctx, k8s, user, namespace, rule); err != nil {
			return nil, err
		}
	}
	return c.AddUser(user)
}

// waitUntilGranted waits until a user has the first right that a rule gives.
func waitUntilGranted(
	ctx context.Context,
	k8s kubernetes.Interface,
	user, namespace string,
	rule rbacv1.PolicyRule,
) error {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{
		Namespace:   namespace,
		Verb:        rule.Verbs[0],
		Group:       rule.APIGroups[0],
		Resource:    resource,
		Subresource: subresource,
	}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes},
	}
	err := wait.PollUntilContextTimeout(
		ctx,
		10*time.Millisecond,
		startTimeout,
		true,
		func(ctx context.Context) (bool, error) {
			answer, err := k8s.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		},
	)
	if err != nil {
		return fmt.Errorf("waiting until %s may %s %s: %w", user, rule.Verbs[0], rule.Resources[0], err)
	}
	return nil
}
