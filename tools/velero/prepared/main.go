// Command prepared runs Velero's own restore actions on the items in a file and writes what comes of them, for the
// tests of package internal/restore/prepare:
//
//	cd tools/velero
//	testdata=../../internal/restore/prepare/testdata
//	go run ./prepared $testdata/items.json > $testdata/1.18.json
//
// and with -modfile=1.16.mod for another version.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"github.com/vmware-tanzu/velero/pkg/restore/actions"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// item is one test: an item of a backup, what decides besides it, and what Velero made of it.
type item struct {
	Name     string               `json:"name"`
	Resource string               `json:"resource"`
	Restore  velerov1.RestoreSpec `json:"restore"`
	Classes  map[string]string    `json:"classes,omitempty"`
	Body     map[string]any       `json:"body"`

	Made  map[string]any `json:"made,omitempty"`
	Skip  bool           `json:"skip,omitempty"`
	Fails string         `json:"fails,omitempty"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var items []item
	check(json.Unmarshal(text, &items))
	for i := range items {
		items[i].restore()
		items[i].Body, items[i].Restore, items[i].Classes, items[i].Resource = nil, velerov1.RestoreSpec{}, nil, ""
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "\t")
	check(out.Encode(items))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// restore is what pkg/restore/restore.go, restoreItem, does with the actions.
func (i *item) restore() {
	defer func() {
		if p := recover(); p != nil {
			i.Made, i.Fails = nil, fmt.Sprintf("plugin panicked: %v", p)
		}
	}()
	text, err := json.Marshal(i.Body)
	check(err)
	object, backup := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	check(object.UnmarshalJSON(text))
	check(backup.UnmarshalJSON(text))
	metadata := object.Object["metadata"].(map[string]any)
	for _, k := range []string{
		"generateName", "selfLink", "uid", "resourceVersion", "generation",
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
	} {
		delete(metadata, k)
	}
	delete(object.Object, "status")
	restore := &velerov1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "restore-uid"}, Spec: i.Restore}
	for _, action := range i.actions() {
		out, err := action.Execute(
			&velero.RestoreItemActionExecuteInput{Item: object, ItemFromBackup: backup, Restore: restore},
		)
		if err != nil {
			i.Fails = err.Error()
			return
		}
		if out.SkipRestore {
			i.Skip = true
			return
		}
		object = out.UpdatedItem.(*unstructured.Unstructured)
	}
	i.Made = object.Object
}

type action interface {
	Execute(input *velero.RestoreItemActionExecuteInput) (*velero.RestoreItemActionExecuteOutput, error)
}

func (i *item) actions() []action {
	log := logrus.New()
	log.SetOutput(io.Discard)
	classes := actions.NewChangeStorageClassAction(log, configs{classes: i.Classes}, classClient{})
	switch i.Resource {
	case "pods":
		waits, err := actions.NewPodVolumeRestoreAction(log, configs{}, cluster{}, "velero")
		check(err)
		return []action{actions.NewInitRestoreHookPodAction(log), actions.NewPodAction(log), waits}
	case "jobs.batch":
		return []action{actions.NewJobAction(log)}
	case "services":
		return []action{actions.NewServiceAction(log)}
	case "persistentvolumeclaims":
		return []action{classes, actions.NewPVCAction(log, configs{}, nodes{})}
	case "persistentvolumes", "statefulsets.apps":
		return []action{classes}
	case "rolebindings.rbac.authorization.k8s.io":
		return []action{actions.NewRoleBindingAction(log)}
	case "clusterrolebindings.rbac.authorization.k8s.io":
		return []action{actions.NewClusterRoleBindingAction(log)}
	case "customresourcedefinitions.apiextensions.k8s.io":
		return []action{actions.NewCRDV1PreserveUnknownFieldsAction(log)}
	case "serviceaccounts":
		return []action{actions.NewServiceAccountAction(log)}
	case "secrets":
		return []action{actions.NewSecretAction(log, cluster{})}
	case "validatingwebhookconfigurations.admissionregistration.k8s.io",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io":
		return []action{actions.NewAdmissionWebhookConfigurationAction(log)}
	}
	panic("no action for " + i.Resource)
}

// cluster holds a Deployment of Velero and nothing else.
type cluster struct{ client.Client }

func (cluster) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (cluster) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*appsv1.Deployment).Spec.Template.Spec.Containers = []corev1.Container{{Name: "velero", Image: "velero"}}
	return nil
}

// configs are the ConfigMaps of plugins: that of storage classes, if there is one.
type configs struct {
	corev1client.ConfigMapInterface
	classes map[string]string
}

func (c configs) List(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
	if c.classes == nil {
		return &corev1.ConfigMapList{}, nil
	}
	return &corev1.ConfigMapList{Items: []corev1.ConfigMap{{Data: c.classes}}}, nil
}

// nodes are those of another cluster.
type nodes struct{ corev1client.NodeInterface }

func (nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// classClient has every storage class.
type classClient struct {
	storagev1client.StorageClassInterface
}

func (classClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*storagev1.StorageClass, error) {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}
