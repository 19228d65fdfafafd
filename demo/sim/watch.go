package sim

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
)

// watch fills the known objects by informers, and returns when all have synced.
func (s *Sim) watch(ctx context.Context) error {
	informers, err := ctrlcache.New(s.Config, ctrlcache.Options{
		Scheme:            s.Scheme,
		DefaultNamespaces: map[string]ctrlcache.Config{s.Namespace: {}},
		ByObject:          map[client.Object]ctrlcache.ByObject{&corev1.Namespace{}: {}},
	})
	if err != nil {
		return fmt.Errorf("watching for the simulated Velero: %w", err)
	}
	ctx, s.stopWatching = context.WithCancel(ctx)
	err = errors.Join(
		follow(ctx, s, informers, &velerov1.Backup{}, s.backups),
		follow(ctx, s, informers, &velerov1.Restore{}, s.restores),
		follow(ctx, s, informers, &velerov1.Schedule{}, s.schedules),
		follow(ctx, s, informers, &velerov1.BackupStorageLocation{}, s.locations),
		follow(ctx, s, informers, &velerov1.DownloadRequest{}, s.downloads),
		follow(ctx, s, informers, &velerov1.DeleteBackupRequest{}, s.deletions),
		follow(ctx, s, informers, &velerov1.ServerStatusRequest{}, s.statuses),
		follow(ctx, s, informers, &velerov1.PodVolumeBackup{}, s.pvbs),
		follow(ctx, s, informers, &velerov1.PodVolumeRestore{}, s.pvrs),
		follow(ctx, s, informers, &velerov2alpha1.DataUpload{}, s.uploads),
		follow(ctx, s, informers, &velerov2alpha1.DataDownload{}, s.dataDowns),
		follow(ctx, s, informers, &corev1.Namespace{}, s.namespaces),
	)
	if err != nil {
		s.stopWatching()
		return fmt.Errorf("watching for the simulated Velero: %w", err)
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		s.stopWatching()
		return fmt.Errorf("watching for the simulated Velero: %w", context.Cause(ctx))
	}
	return nil
}

func follow[T client.Object](ctx context.Context, s *Sim, informers ctrlcache.Cache, kind T, known *objects[T]) error {
	informer, err := informers.GetInformer(ctx, kind, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	put := func(object any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		known.put(object.(T))
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			gone := object.(T)
			known.remove(gone.GetName(), gone.GetUID())
		},
	})
	return err
}
