package seed

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apiGroup is the API group of the custom resources.
const apiGroup = "lab.veltui.io"

const (
	storageClass  = "lab-standard"
	priorityClass = "lab-high"
)

// addClusterObjects makes what belongs to no namespace.
func (m *setBuilder) addClusterObjects() {
	m.set.Definitions = append(m.set.Definitions,
		newDefinition("Widget", "widgets", apiextensionsv1.NamespaceScoped),
		newDefinition("Gadget", "gadgets", apiextensionsv1.ClusterScoped),
		newDefinition("Part", "parts", apiextensionsv1.NamespaceScoped), // none are made
	)
	for _, s := range namespaceSizes {
		m.addBases(
			&corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: s.namespace, Labels: map[string]string{"made-by": "lab"}},
			},
		)
	}
	binding := storagev1.VolumeBindingImmediate
	m.addBases(
		&storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: storageClass},
			Provisioner:       "lab.veltui.io/none",
			VolumeBindingMode: &binding,
		},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priorityClass}, Value: 1000},
	)
	for i := range 6 {
		name := fmt.Sprintf("lab-role-%d", i)
		m.addObjects(
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: policyRules()},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
				Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "nobody"}},
			},
		)
	}
	for i := range 15 {
		m.addObjects(m.newCustomObject("Gadget", m.randomMeta("", "gadget", i)))
	}
}

func newDefinition(kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + apiGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: apiGroup,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
			Scope: scope,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object", XPreserveUnknownFields: &preserve},
					},
				}},
			}},
		},
	}
}

func (m *setBuilder) newCustomObject(kind string, meta metav1.ObjectMeta) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"size": int64(m.random.IntN(100)), "note": m.randomText(40)},
	}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: apiGroup, Version: "v1", Kind: kind})
	object.SetNamespace(meta.Namespace)
	object.SetName(meta.Name)
	object.SetLabels(meta.Labels)
	return object
}

func policyRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
	}
}
