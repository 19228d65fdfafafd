package oldscene

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// campaignDefinition is a custom resource of the made-up cluster, so that
// backups hold a CRD and restores have a pass over CRDs.
func campaignDefinition() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "campaigns.marketing.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "marketing.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "campaigns", Singular: "campaign", Kind: "Campaign", ListKind: "CampaignList", ShortNames: []string{"camp"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
			}},
		},
	}
}

// campaigns creates the definition and its objects.
func (b *builder) campaigns(ctx context.Context) error {
	definition := campaignDefinition()
	if _, err := b.create(ctx, thing{"customresourcedefinitions", definition, nil}); err != nil {
		return err
	}
	established := func(ctx context.Context) (bool, error) {
		if err := b.api.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err
		}
		for _, c := range definition.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, established); err != nil {
		return fmt.Errorf("waiting for the demo's own CRD: %w", err)
	}
	item, err := b.item("customresourcedefinitions", definition)
	if err != nil {
		return err
	}
	b.remember(item)
	for _, a := range apps {
		for n := range a.campaigns {
			if err := b.campaign(ctx, a, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) campaign(ctx context.Context, a app, n int) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "marketing.example.com/v1", "kind": "Campaign",
		"metadata": map[string]any{"namespace": a.namespace, "name": fmt.Sprintf("campaign-%02d", n), "labels": map[string]any{"app": a.namespace, "team": a.team}},
		"spec":     map[string]any{"audience": int64(1000 * (n + 1)), "channel": "mail"},
	}}
	// An established CRD may still answer 404, or not be discovered, for a moment.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := b.api.Create(ctx, u)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("creating campaign %s: %w", u.GetName(), err)
	}
	item, err := sim.NewItem("campaigns", u)
	if err != nil {
		return err
	}
	b.remember(item)
	return nil
}
