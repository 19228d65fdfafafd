package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	// sourceNamespace is the namespace that restores take, and base its backup.
	sourceNamespace, baseBackup = "source", "base"
	// hookSource is one with a pod that asks for a hook after its restore.
	hookSource = "hook-source"
	// plainSource is one with a pod that asks for none.
	plainSource = "plain-source"
	// trapNamespace is the namespace with an object of a kind that can be made unlistable.
	trapNamespace = "trap"
	// spareName is a second storage location, and its backup's name.
	spareName = "spare"
	// victimBackup is the backup whose deletion fails.
	victimBackup = "victim"
	// actedObjects is how many objects of a namespace the lab's plugin acts on.
	actedObjects = 5
)

const trapGroup = "trap.veltui.io"

// twoSlots lets a node move and prepare two volumes at once.
const twoSlots = `{"loadConcurrency":{"globalConfig":2,"prepareQueueLength":2}}`

// prepareLab starts the lab and makes what the story stands on.
func (r *storyRun) prepareLab(ctx context.Context, progress func(string)) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if r.lab, err = lab.Start(ctx, lab.Options{Seed: newSeedSet(), OnStep: func(what string, took time.Duration) {
		progress(fmt.Sprintf("lab: %s, %.1f s", what, took.Seconds()))
	}}); err != nil {
		return err
	}
	r.flags = r.story.Limits.ServerFlags(r.hasBackupQueue())
	for _, step := range []func() error{
		func() error { return r.lab.StartSnapshots(ctx) },
		func() error { return r.lab.StartNodeAgent(ctx, twoSlots) },
		func() error { return r.lab.EnsureVelero(ctx, r.flags...) },
		func() error { return r.createSpareLocation(ctx) },
		func() error { return r.createDatabasePods(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for name, spec := range map[string]veleroapi.BackupSpec{
		baseBackup:    {IncludedNamespaces: []string{sourceNamespace}},
		hookSource:    {IncludedNamespaces: []string{hookSource}},
		plainSource:   {IncludedNamespaces: []string{plainSource}},
		trapNamespace: {IncludedNamespaces: []string{trapNamespace}},
		spareName:     {IncludedNamespaces: []string{sourceNamespace}, StorageLocation: spareName},
		victimBackup:  {IncludedNamespaces: []string{sourceNamespace}},
	} {
		if err := r.lab.CreateBackup(ctx, name, spec, nil); err != nil {
			return err
		}
		if _, err := r.awaitJob(ctx, "Backup", name, "complete", lab.InPhase("Completed")); err != nil {
			return err
		}
	}
	progress("Velero " + r.lab.Version + " runs")
	return nil
}

// newSeedSet is what the cluster holds before Velero starts.
func newSeedSet() seed.Set {
	set := seed.Set{Definitions: []client.Object{trapDefinition()}}
	for _, name := range []string{sourceNamespace, hookSource, plainSource, trapNamespace} {
		set.Prerequisites = append(set.Prerequisites, newNamespace(name))
	}
	set.Objects = newConfigMaps(sourceNamespace, 40)
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": trapGroup + "/v1", "kind": "Thing"}}
	thing.SetNamespace(trapNamespace)
	thing.SetName("thing")
	set.Objects = append(set.Objects, thing)
	return set
}

func newNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// newConfigMaps are n objects of which the lab's plugin acts on a few.
func newConfigMaps(namespace string, n int) []client.Object {
	objects := make([]client.Object, n)
	for i := range objects {
		o := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("config-%03d", i)},
			Data:       map[string]string{"n": fmt.Sprint(i)},
		}
		if i < actedObjects {
			o.Labels = map[string]string{seed.ActedLabel: seed.ActedEarly}
		}
		objects[i] = o
	}
	return objects
}

// trapDefinition is a kind with two versions, of which v1 is served and stored.
func trapDefinition() *apiextensionsv1.CustomResourceDefinition {
	anything := true
	schema := &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + trapGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: trapGroup,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural:   "things",
				Singular: "thing",
				Kind:     "Thing",
				ListKind: "ThingList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{
					Name:    "v1",
					Served:  true,
					Storage: true,
					Schema:  schema,
				},
				{Name: "v2", Served: false, Storage: false, Schema: schema},
			},
		},
	}
}

// createSpareLocation makes a second location in a bucket of its own.
func (r *storyRun) createSpareLocation(ctx context.Context) error {
	if err := r.lab.MakeBucket(spareName); err != nil {
		return err
	}
	var first veleroapi.BackupStorageLocation
	if err := r.lab.Client.Get(
		ctx,
		client.ObjectKey{Namespace: lab.Namespace, Name: lab.LocationName},
		&first,
	); err != nil {
		return err
	}
	second := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: spareName},
		Spec:       *first.Spec.DeepCopy(),
	}
	second.Spec.Default = false
	second.Spec.ObjectStorage.Bucket = spareName
	if err := r.lab.Client.Create(ctx, second); err != nil {
		return err
	}
	return r.waitUntil(ctx, "the spare location to be available", func() bool {
		err := r.lab.Client.Get(ctx, client.ObjectKeyFromObject(second), second)
		return err == nil && second.Status.Phase == veleroapi.BackupStorageLocationPhaseAvailable
	})
}

// createDatabasePods makes a pod that asks for a command after it was restored, and a pod that
// does not.
func (r *storyRun) createDatabasePods(ctx context.Context) error {
	for namespace, annotations := range map[string]map[string]string{
		hookSource: {
			"post.hook.restore.velero.io/command":   `["gate","hook-restore"]`,
			"post.hook.restore.velero.io/container": "db",
		},
		plainSource: nil,
	} {
		if err := r.lab.CreatePod(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db-0", Annotations: annotations},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "db", Image: "registry.example.com/lab/db:1"}},
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *storyRun) hasBackupQueue() bool { return queuesBackups(r.lab.Version) }
