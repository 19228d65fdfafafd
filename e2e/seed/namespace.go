package seed

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// actedEvery is how many ConfigMaps there are for each that asks for the
// plugin.
const actedEvery = 25

// addNamespace makes everything of one namespace.
func (m *setBuilder) addNamespace(s namespaceSize) {
	ns := s.namespace
	for i := range s.configMaps {
		object := &corev1.ConfigMap{
			ObjectMeta: m.randomMeta(ns, "config", i),
			Data:       map[string]string{"settings": m.randomText(300)},
		}
		if i%actedEvery == actedEvery-1 {
			object.Labels[ActedLabel] = ActedEarly
		}
		m.addObjects(object)
	}
	for i := range s.secrets {
		m.addObjects(
			&corev1.Secret{ObjectMeta: m.randomMeta(ns, "secret", i), StringData: map[string]string{"token": m.randomText(60)}},
		)
	}
	for i := range s.services {
		m.addService(ns, i)
	}
	for i := range s.accounts {
		m.addAccount(ns, i)
	}
	for i := range s.deployments {
		m.addWorkload(ns, i)
	}
	for i := range s.jobs {
		m.addEndedJob(ns, i)
	}
	for i := range s.pods {
		m.addPod(ns, i)
	}
	for i := range s.claims {
		m.addClaim(ns, i)
	}
	for i := range s.widgets {
		widget := m.newCustomObject("Widget", m.randomMeta(ns, "widget", i))
		if i == s.widgets-1 { // widgets.lab.veltui.io is the last kind that a restore comes to
			labels := widget.GetLabels()
			labels[ActedLabel] = ActedLate
			widget.SetLabels(labels)
		}
		m.addObjects(widget)
	}
	m.addPolicies(s)
}

// addService has a selector, so kube-controller-manager adds an EndpointSlice.
func (m *setBuilder) addService(ns string, i int) {
	meta := m.randomMeta(ns, "service", i)
	m.addObjects(&corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": meta.Labels["app"]},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	})
}

// addAccount is a ServiceAccount with its Role and RoleBinding.
func (m *setBuilder) addAccount(ns string, i int) {
	meta := m.randomMeta(ns, "account", i)
	m.addObjects(
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: policyRules()},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: meta.Name}},
		},
	)
}

func (m *setBuilder) addPolicies(s namespaceSize) {
	ns := s.namespace
	prefix := networkingv1.PathTypePrefix
	for i := range s.policies {
		policy := m.randomMeta(ns, "policy", i)
		m.addObjects(&networkingv1.NetworkPolicy{
			ObjectMeta: policy,
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": policy.Labels["app"]}},
			},
		})
		ingress := m.randomMeta(ns, "ingress", i)
		m.addObjects(&networkingv1.Ingress{
			ObjectMeta: ingress,
			Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{
				{
					Host: ingress.Name + ".example.com",
					IngressRuleValue: networkingv1.IngressRuleValue{
						HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
							Path: "/", PathType: &prefix,
							Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
								Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80},
							}},
						}}},
					},
				},
			}},
		})
		budget := m.randomMeta(ns, "budget", i)
		one := intstr.FromInt32(1)
		m.addObjects(&policyv1.PodDisruptionBudget{
			ObjectMeta: budget,
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &one,
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "none"}},
			},
		})
	}
	m.addObjects(&corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limits"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePersistentVolumeClaim,
			Max:  corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")},
		}}},
	})
}
