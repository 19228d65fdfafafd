package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// BackupStore reads backups in object storage and objects of the target cluster, for estimates.
type BackupStore struct {
	namespace string // Velero's namespace
	client    *client.Client
	artifacts *artifact.Fetcher
	indexes   *cache.Cache
	readOnly  bool
}

// ErrNoDownload is returned if the contents of a backup are not cached and must not be downloaded.
var ErrNoDownload = errors.New(
	"read-only: to download a backup, veltui would have to create a DownloadRequest in the cluster",
)

// ErrReadOnlyDownload is returned for the same reason for what Velero has stored beside a backup.
var ErrReadOnlyDownload = errors.New(
	"read-only: to read this, veltui would have to create a DownloadRequest in the cluster",
)

// NewBackupStore returns a store for the Velero in a namespace, with the current credentials. It has sent no request
// yet.
func (c *Cluster) NewBackupStore(namespace string) (*BackupStore, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	api, err := c.newClient(config)
	if err != nil {
		return nil, err
	}
	artifacts, err := c.newFetcher(config, namespace)
	if err != nil {
		return nil, err
	}
	return &BackupStore{
		namespace: namespace,
		client:    api,
		artifacts: artifacts,
		indexes:   c.Indexes,
		readOnly:  c.ReadOnly,
	}, nil
}

// FetchBackup reads a Backup whose contents can be downloaded.
func (e *BackupStore) FetchBackup(ctx context.Context, name string) (*veleroapi.Backup, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(veleroapi.GroupVersion.WithKind("Backup"))
	object.SetNamespace(e.namespace)
	object.SetName(name)
	switch err := e.client.Get(ctx, object); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no backup %s in namespace %s", name, e.namespace)
	case err != nil:
		return nil, fmt.Errorf("reading backup %s: %w", name, err)
	}
	var b veleroapi.Backup
	malformed, err := decode.Unstructured(object, &b)
	if err != nil {
		return nil, fmt.Errorf("reading backup %s: %w", name, err)
	}
	if b.Status.Phase == "" && len(malformed) > 0 {
		return nil, fmt.Errorf("backup %s: %s; %s", name, malformed[0], decode.ServerWarning)
	}
	switch b.Status.Phase {
	case veleroapi.BackupPhaseCompleted,
		veleroapi.BackupPhasePartiallyFailed,
		veleroapi.BackupPhaseFailed,
		veleroapi.BackupPhaseDeleting:
		return &b, nil
	case veleroapi.BackupPhaseFailedValidation:
		return nil, fmt.Errorf("backup %s is empty: it failed validation", name)
	case "", veleroapi.BackupPhaseNew:
		return nil, fmt.Errorf("backup %s has not started; its contents are known once it has ended", name)
	case veleroapi.BackupPhaseWaitingForPluginOperations, veleroapi.BackupPhaseWaitingForPluginOperationsPartiallyFailed,
		veleroapi.BackupPhaseFinalizing, veleroapi.BackupPhaseFinalizingPartiallyFailed:
		// FinalizeBackup writes the tarball again (pkg/backup/backup.go), and an index is kept.
		return nil, fmt.Errorf(
			"backup %s is still %s; Velero may write its contents anew until it has ended",
			name,
			b.Status.Phase,
		)
	default:
		return nil, fmt.Errorf("backup %s is still %s; its contents are known once it has ended", name, b.Status.Phase)
	}
}

// ReadIndex returns the index of a backup, which is downloaded if it never was; progress is called during the
// download. Like [collector.Read] it may return both an index and an error.
func (e *BackupStore) ReadIndex(ctx context.Context, b *veleroapi.Backup, progress Progress) (*collector.Index, error) {
	return e.indexes.GetOrReadIndex(ctx, string(b.UID), func(ctx context.Context) (*collector.Index, error) {
		if e.readOnly {
			return nil, ErrNoDownload
		}
		body, err := e.openContents(ctx, b.Name, progress)
		if err != nil {
			return nil, err
		}
		defer func() { _ = body.Close() }()
		// Labels are read too, because later queries may have selectors.
		index, err := collector.Read(ctx, body, collector.Limits{})
		if err != nil {
			return index, fmt.Errorf("backup %s: %w", b.Name, err)
		}
		return index, nil
	})
}

func (e *BackupStore) openContents(ctx context.Context, backup string, progress Progress) (*countingReader, error) {
	stream, err := e.artifacts.Open(ctx, artifact.Target{Kind: veleroapi.DownloadTargetKindBackupContents, Name: backup})
	if err != nil {
		return nil, err
	}
	return &countingReader{ReadCloser: stream, total: max(stream.Size(), 0), progress: progress}, nil
}

// EstimateRestoreSpec estimates what a restore with a given spec restores. began is when that restore began, zero if it
// has not. The namespaces of the target are read unless spec has them.
func (e *BackupStore) EstimateRestoreSpec(
	ctx context.Context,
	index *collector.Index,
	spec collector.RestoreInput,
	began time.Time,
) (collector.Estimate, error) {
	refused := e.ReadPolicy(ctx, &spec)
	if refused != nil &&
		(!errors.Is(refused, ErrPolicyRefused) || !began.IsZero()) { // once it has begun, the policy may no longer exist
		return collector.Estimate{}, refused
	}
	kinds, notes, err := e.FetchKinds(ctx)
	if err == nil && !spec.ExistingNamespaces.IsComplete {
		spec.ExistingNamespaces, notes, err = e.fetchExistingOrNote(ctx, began, notes)
	}
	if err != nil {
		return collector.Estimate{}, err
	}
	estimate, err := index.Estimate(ctx, spec, kinds)
	if err != nil {
		return collector.Estimate{}, err
	}
	estimate.Assumptions = append(notes, estimate.Assumptions...)
	if refused != nil {
		estimate.Refusals = append(estimate.Refusals, human.Capitalize(sanitize.String(refused.Error()))+".")
	}
	return estimate, nil
}

// ErrPolicyRefused means that Velero refuses a restore because of an object that it refers to.
var ErrPolicyRefused = errors.New("velero would refuse it now")

// ReadPolicy reads the resource policy that a restore's spec names, if it has any effect and is not known yet. A
// policy that is missing or invalid is an [ErrPolicyRefused].
func (e *BackupStore) ReadPolicy(ctx context.Context, spec *collector.RestoreInput) error {
	r, version := spec.Restore.ResourcePolicy, velero.Version(spec.Server.Version)
	if r == nil || spec.Policy != nil || version != (velero.Version{}) && !version.ReadsRestorePolicies() {
		return nil
	}
	var found corev1.ConfigMap
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	found.SetNamespace(e.namespace)
	found.SetName(r.Name)
	switch err := e.client.Get(ctx, &found); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no ConfigMap %s with its resource policy: %w", r.Name, ErrPolicyRefused)
	case err != nil:
		return fmt.Errorf("what the resource policy %s selects: %w", r.Name, err)
	}
	var err error
	if spec.Policy, err = velero.ParseRestorePolicy(found.Data); err != nil {
		return fmt.Errorf("resource policy %s: %w: %w", r.Name, err, ErrPolicyRefused)
	}
	return nil
}

// FetchKinds returns the kinds that the target serves. notes say what it did not tell.
func (e *BackupStore) FetchKinds(ctx context.Context) (d collector.Discovery, notes []string, err error) {
	kinds, err := e.client.DiscoverKinds(ctx)
	if err != nil {
		return d, nil, fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	for group := range kinds.Unanswered {
		notes = append(notes, fmt.Sprintf("The target did not list the kinds of %s.", group))
	}
	slices.Sort(notes)
	return collector.LiveDiscovery(kinds.PreferredResources()), notes, nil
}

// fetchExistingOrNote is FetchExistingNamespaces for an answer that can do without a forbidden list, and notes it.
func (e *BackupStore) fetchExistingOrNote(
	ctx context.Context,
	began time.Time,
	notes []string,
) (collector.TargetNamespaces, []string, error) {
	known, err := e.FetchExistingNamespaces(ctx, began)
	switch {
	case apierrors.IsForbidden(err):
		return known, append(notes, "You may not list the namespaces of the target."), nil
	case err != nil:
		return known, notes, fmt.Errorf("listing the target's namespaces: %w", err)
	}
	return known, notes, nil
}

// FetchExistingNamespaces returns the namespaces older than a restore: Velero counts the namespaces that it made.
func (e *BackupStore) FetchExistingNamespaces(
	ctx context.Context,
	began time.Time,
) (collector.TargetNamespaces, error) {
	known := collector.TargetNamespaces{IsComplete: true}
	err := session.ReadPages(
		ctx,
		metav1.ListOptions{Limit: session.PageSize},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			page := &metav1.PartialObjectMetadataList{}
			page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
			if err := e.client.List(ctx, page, "", o); err != nil {
				return "", err
			}
			if o.Continue == "" {
				known.Names = nil
			}
			for _, namespace := range page.Items {
				if began.IsZero() || namespace.CreationTimestamp.Time.Before(began) {
					known.Names = append(known.Names, namespace.Name)
				}
			}
			return page.Continue, nil
		},
	)
	if err != nil {
		return collector.TargetNamespaces{}, err
	}
	return known, nil
}

// MalformedSpecNotes says what an estimate ignores in a job's spec.
func MalformedSpecNotes(j *job.Job) []string {
	var notes []string
	for _, m := range j.MalformedFields {
		notes = append(
			notes,
			fmt.Sprintf(
				"%s %s: %s. It counts as not set; %s.",
				strings.ToLower(string(j.Kind)),
				j.Name,
				m,
				decode.ServerWarning,
			),
		)
	}
	return notes
}

// FindRestoreSpec returns the spec of a restore in the cluster.
func FindRestoreSpec(j *job.Job) (veleroapi.RestoreSpec, error) {
	r, ok := j.Object.(*veleroapi.Restore)
	switch {
	case !ok:
		return veleroapi.RestoreSpec{}, fmt.Errorf("%s is not a restore", j.Name)
	case r.Spec.BackupName == "":
		return veleroapi.RestoreSpec{}, fmt.Errorf("restore %s does not name a backup yet", j.Name)
	}
	return r.Spec, nil
}

// ServerFromTag returns a Velero server with that image tag.
func ServerFromTag(tag string) collector.VeleroServer {
	v, _ := velero.ParseVersion(tag) // otherwise zero: Estimate says that the version is unknown
	return collector.VeleroServer{Version: v, Tag: tag}
}

// BuildCollectorServer returns the cluster's Velero server, with the settings of its flags.
func BuildCollectorServer(s velero.Server) collector.VeleroServer {
	server := ServerFromTag(s.Version)
	// Velero does not start with a value that cannot be parsed.
	if p, err := collector.ParsePriorities(s.Flags.RestorePriorities); err == nil && s.Flags.RestorePriorities != "" {
		server.Priorities = &p
	}
	// Before 1.14 the actions belong to a plugin, which runs without the feature flag.
	if s.Running && (server.Version == [3]int{} || server.Version[0] > 1 || server.Version[1] >= 14) {
		csi := slices.Contains(s.Flags.Features, veleroapi.CSIFeatureFlag)
		server.CSIEnabled = &csi
	}
	return server
}

// fetchVeleroState returns the state of Velero with the backup, which a command about one restore does not watch.
func (e *BackupStore) fetchVeleroState(
	ctx context.Context,
	snap *watch.Snapshot,
	backup string,
) (preflight.VeleroState, error) {
	v := BuildVeleroState(snap, backup)
	if v.Backup != nil {
		return v, nil
	}
	var err error
	v.Backup, err = e.FetchBackup(ctx, backup)
	return v, err
}

// Progress is called with how many bytes of a backup have arrived, and of how many; total is 0 while it is unknown.
// It may be called from any goroutine, and never blocks. It is not called while nothing is downloaded.
type Progress func(done, total int64)
