package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LocationName is the name of the lab's BackupStorageLocation.
const LocationName = "default"

// veleroImage is that of the server and of node-agents.
func (l *Lab) veleroImage() string { return "velero/velero:" + l.Version }

// serverLabels are what `velero install` puts on the server's Deployment and
// pods, and what clients find them by.
func serverLabels() map[string]string {
	return map[string]string{"component": "velero", "deploy": "velero"}
}

// installCRDs asks Velero's own command for its version and for the CRDs that
// belong to it, and creates them.
func (l *Lab) installCRDs(ctx context.Context) error {
	var err error
	if l.Version, err = l.cliVersion(ctx); err != nil {
		return err
	}
	told, err := l.VeleroCLI(ctx, "install", "--crds-only", "--dry-run", "--output=json")
	if err != nil {
		return err
	}
	var list struct {
		Items []*apiextensionsv1.CustomResourceDefinition `json:"items"`
	}
	if err := json.Unmarshal([]byte(told), &list); err != nil {
		return fmt.Errorf("reading Velero's CRDs: %w", err)
	}
	return testbed.InstallDefinitions(ctx, l.RESTConfig(), list.Items)
}

// cliVersion asks Velero's own command for its version, such as v1.18.3.
func (l *Lab) cliVersion(ctx context.Context) (string, error) {
	text, err := l.VeleroCLI(ctx, "version", "--client-only")
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(text, "Version: ")
	version, _, _ := strings.Cut(rest, "\n")
	if version == "" {
		return "", fmt.Errorf("velero version named none: %s", text)
	}
	return version, nil
}

// installVelero creates what `velero install` would. The Deployment has no replicas,
// because no kubelet could run them, but must be there: Velero's pod volume
// restore action reads the server's image from it, for every restore.
func (l *Lab) installVelero(ctx context.Context) error {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "cloud-credentials"},
			StringData: map[string]string{"cloud": credentials},
		},
		l.newStorageLocation(),
		l.newServerDeployment(),
	} {
		if err := l.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// newStorageLocation has no credential of its own: the server has the file, as after
// `velero install`. Velero would write such a credential into a file anew for
// every use, and a plugin that reads the file at that moment finds it empty:
// the location is then Unavailable until it is validated again.
//
// It is checked and synchronised every few seconds, not every minute:
// the tests wait for both.
func (l *Lab) newStorageLocation() *veleroapi.BackupStorageLocation {
	return &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: LocationName},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider: "aws",
			Default:  true,
			StorageType: veleroapi.StorageType{
				ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: bucket},
			},
			Config: map[string]string{
				"region":            "us-east-1",
				"s3ForcePathStyle":  "true",
				"s3Url":             l.S3URL(),
				"checksumAlgorithm": "",
			},
			ValidationFrequency: &metav1.Duration{Duration: 5 * time.Second},
			BackupSyncPeriod:    &metav1.Duration{Duration: 10 * time.Second},
		},
	}
}

func (l *Lab) newServerDeployment() *appsv1.Deployment {
	none := int32(0)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace,
			Name:      "velero",
			Labels:    map[string]string{"component": "velero"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &none,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"deploy": "velero"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: serverLabels()},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:    "velero",
					Image:   l.veleroImage(),
					Command: []string{"/velero"},
					Args:    []string{"server"},
				}}},
			},
		},
	}
}
