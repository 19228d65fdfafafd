package lab

import (
	"context"
	"fmt"
	"sync"

	"github.com/veltui/veltui/e2e/seed"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// seedWorkers is how many objects are created at a time.
const seedWorkers = 16

// seedCluster creates a set, and returns once kube-controller-manager has made of it
// what it makes, so that a backup always finds the same.
func (l *Lab) seedCluster(ctx context.Context, set seed.Set) error {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(set.Definitions))
	for _, object := range set.Definitions {
		crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return fmt.Errorf("seeding: %T is no definition", object)
		}
		crds = append(crds, crd)
	}
	if _, err := envtest.InstallCRDs(
		l.RESTConfig(),
		envtest.CRDInstallOptions{Scheme: l.Client.Scheme(), CRDs: crds},
	); err != nil {
		return fmt.Errorf("seeding definitions: %w", err)
	}
	create := func(object client.Object) error { return l.Client.Create(ctx, object) }
	if err := forEachParallel(set.Prerequisites, create); err != nil {
		return err
	}
	if err := forEachParallel(set.Objects, create); err != nil {
		return err
	}
	if err := forEachParallel(
		set.Ended,
		func(object client.Object) error { return l.createEnded(ctx, object) },
	); err != nil {
		return err
	}
	return pollUntil(ctx, "the controllers to settle", func() (bool, error) { return l.hasSettled(ctx, set) })
}

// createEnded creates a pod or job and then writes the status that it has.
func (l *Lab) createEnded(ctx context.Context, object client.Object) error {
	var restore func()
	switch o := object.(type) {
	case *corev1.Pod:
		status := o.Status
		restore = func() { o.Status = status }
	case *batchv1.Job:
		status := o.Status
		restore = func() { o.Status = status }
	default:
		return fmt.Errorf("%T cannot end", object)
	}
	if err := l.Client.Create(ctx, object); err != nil {
		return err
	}
	restore() // Create dropped it
	return l.Client.Status().Update(ctx, object)
}

// hasSettled reports whether every claim that names its volume is bound, every
// deployment has its pods, and every namespace of the set its default account.
func (l *Lab) hasSettled(ctx context.Context, set seed.Set) (bool, error) {
	for _, object := range set.Prerequisites {
		if _, ok := object.(*corev1.Namespace); !ok {
			continue
		}
		namespace := object.GetName()
		in := client.InNamespace(namespace)
		var claims corev1.PersistentVolumeClaimList
		var deployments appsv1.DeploymentList
		var account corev1.ServiceAccount
		if err := l.Client.List(ctx, &claims, in); err != nil {
			return false, err
		}
		if err := l.Client.List(ctx, &deployments, in); err != nil {
			return false, err
		}
		if err := l.Client.Get(
			ctx,
			client.ObjectKey{Namespace: namespace, Name: "default"},
			&account,
		); client.IgnoreNotFound(
			err,
		) != nil {
			return false, err
		} else if err != nil {
			return false, nil
		}
		for _, c := range claims.Items {
			if c.Spec.VolumeName != "" && c.Status.Phase != corev1.ClaimBound {
				return false, nil
			}
		}
		for _, d := range deployments.Items {
			if d.Status.Replicas != *d.Spec.Replicas {
				return false, nil
			}
		}
	}
	return true, nil
}

// forEachParallel does something with every object, several at a time, and returns
// the first error.
func forEachParallel(objects []client.Object, do func(client.Object) error) error {
	var (
		wait  sync.WaitGroup
		once  sync.Once
		first error
		queue = make(chan client.Object)
	)
	for range seedWorkers {
		wait.Go(func() {
			for object := range queue {
				if err := do(object); err != nil {
					once.Do(
						func() { first = fmt.Errorf("seeding %T %s: %w", object, client.ObjectKeyFromObject(object), err) },
					)
				}
			}
		})
	}
	for _, object := range objects {
		queue <- object
	}
	close(queue)
	wait.Wait()
	return first
}
