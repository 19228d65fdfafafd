package testbed

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// InstallEtcdBackupCRDs creates the CRDs of OpenShift's etcd backups and waits
// until they are served. Their schemas say what those of
// github.com/openshift/api at 2a3d73913 say (payload-manifests/crds), patterns of
// cron schedules and time zones left out.
func InstallEtcdBackupCRDs(ctx context.Context, cfg *rest.Config) error {
	return InstallDefinitions(ctx, cfg, []*apiextensionsv1.CustomResourceDefinition{
		openShiftCRD("operator.openshift.io", "etcdbackups", "EtcdBackup", etcdBackupSchema()),
		openShiftCRD("config.openshift.io", "backups", "Backup", etcdScheduleSchema()),
	})
}

// jsonSchema is what a CRD says about a value.
type jsonSchema = apiextensionsv1.JSONSchemaProps

func openShiftCRD(
	group, plural, kind string,
	properties map[string]jsonSchema,
) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group, Annotations: map[string]string{
			apiextensionsv1.KubeAPIApprovedAnnotation: "https://github.com/openshift/api/pull/1482"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{
					Name:    "v1alpha1",
					Served:  true,
					Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{
						OpenAPIV3Schema: &jsonSchema{
							Type:       "object",
							Required:   []string{"spec"},
							Properties: properties,
						},
					},
					Subresources: &apiextensionsv1.CustomResourceSubresources{
						Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					},
				},
			},
		},
	}
}

func stringSchema() jsonSchema { return jsonSchema{Type: "string"} }

func objectSchema(required []string, properties map[string]jsonSchema) jsonSchema {
	return jsonSchema{Type: "object", Required: required, Properties: properties}
}

func etcdBackupSchema() map[string]jsonSchema {
	byType := "map"
	claim := stringSchema()
	claim.XValidations = apiextensionsv1.ValidationRules{
		{Rule: "self == oldSelf", Message: "pvcName is immutable once set"},
	}
	namespace := stringSchema()
	namespace.Pattern = "^openshift-etcd$"
	changed := stringSchema()
	changed.Format = "date-time"
	status := stringSchema()
	for _, s := range []string{`"True"`, `"False"`, `"Unknown"`} {
		status.Enum = append(status.Enum, apiextensionsv1.JSON{Raw: []byte(s)})
	}
	condition := objectSchema([]string{"lastTransitionTime", "message", "reason", "status", "type"}, map[string]jsonSchema{
		"lastTransitionTime": changed, "message": stringSchema(), "observedGeneration": {Type: "integer", Format: "int64"},
		"reason": stringSchema(), "status": status, "type": stringSchema(),
	})
	return map[string]jsonSchema{
		"spec": objectSchema(nil, map[string]jsonSchema{"pvcName": claim}),
		"status": objectSchema(nil, map[string]jsonSchema{
			"backupJob": objectSchema(
				[]string{"name", "namespace"},
				map[string]jsonSchema{"name": stringSchema(), "namespace": namespace},
			),
			"conditions": {Type: "array", XListType: &byType, XListMapKeys: []string{"type"},
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition}},
		}),
	}
}

func etcdScheduleSchema() map[string]jsonSchema {
	least := 1.0
	number := jsonSchema{Type: "integer", Minimum: &least}
	kind := stringSchema()
	kind.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"RetentionNumber"`)}, {Raw: []byte(`"RetentionSize"`)}}
	return map[string]jsonSchema{
		"spec": objectSchema([]string{"etcd"}, map[string]jsonSchema{
			"etcd": objectSchema(nil, map[string]jsonSchema{
				"schedule": stringSchema(), "timeZone": stringSchema(), "pvcName": stringSchema(),
				"retentionPolicy": objectSchema([]string{"retentionType"}, map[string]jsonSchema{
					"retentionType": kind,
					"retentionNumber": objectSchema(
						[]string{"maxNumberOfBackups"},
						map[string]jsonSchema{"maxNumberOfBackups": number},
					),
					"retentionSize": objectSchema(
						[]string{"maxSizeOfBackupsGb"},
						map[string]jsonSchema{"maxSizeOfBackupsGb": number},
					),
				}),
			}),
		}),
		"status": {Type: "object"},
	}
}
