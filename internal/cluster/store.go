package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Store reads backups in object storage and the target cluster, for estimates.
type Store struct {
	namespace string // Velero's
	client    *client.Client
	artifacts *artifact.Fetcher
	indexes   *cache.Cache
	readOnly  bool
}

// ErrNoDownload is said where what is in a backup is not known already and must not be asked for.
var ErrNoDownload = errors.New(
	"read-only: to download a backup, veltui would have to create a DownloadRequest in the cluster",
)

// ErrReadOnlyDownload is the same for what Velero has stored beside a backup.
var ErrReadOnlyDownload = errors.New(
	"read-only: to read this, veltui would have to create a DownloadRequest in the cluster",
)

// Store is one for the Velero in a namespace, with the credentials of now. It made no request yet.
func (c *Cluster) Store(namespace string) (*Store, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	api, err := c.client(config)
	if err != nil {
		return nil, err
	}
	artifacts, err := c.artifacts(config, namespace)
	if err != nil {
		return nil, err
	}
	return &Store{
		namespace: namespace,
		client:    api,
		artifacts: artifacts,
		indexes:   c.Indexes,
		readOnly:  c.ReadOnly,
	}, nil
}

// Backup reads a Backup whose contents can be downloaded.
func (e *Store) Backup(ctx context.Context, name string) (*velerov1.Backup, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind("Backup"))
	object.SetNamespace(e.namespace)
	object.SetName(name)
	switch err := e.client.Get(ctx, object); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no backup %s in namespace %s", name, e.namespace)
	case err != nil:
		return nil, fmt.Errorf("reading backup %s: %w", name, err)
	}
	var b velerov1.Backup
	malformed, err := decode.Unstructured(object, &b)
	if err != nil {
		return nil, fmt.Errorf("reading backup %s: %w", name, err)
	}
	if b.Status.Phase == "" && len(malformed) > 0 {
		return nil, fmt.Errorf("backup %s: %s; %s", name, malformed[0], decode.ServerWarning)
	}
	switch b.Status.Phase {
	case velerov1.BackupPhaseCompleted,
		velerov1.BackupPhasePartiallyFailed,
		velerov1.BackupPhaseFailed,
		velerov1.BackupPhaseDeleting:
		return &b, nil
	case velerov1.BackupPhaseFailedValidation:
		return nil, fmt.Errorf("backup %s is empty: it failed validation", name)
	case "", velerov1.BackupPhaseNew:
		return nil, fmt.Errorf("backup %s has not started; its contents are known once it has ended", name)
	case velerov1.BackupPhaseWaitingForPluginOperations, velerov1.BackupPhaseWaitingForPluginOperationsPartiallyFailed,
		velerov1.BackupPhaseFinalizing, velerov1.BackupPhaseFinalizingPartiallyFailed:
		// FinalizeBackup writes the tarball anew (pkg/backup/backup.go), and an index is kept.
		return nil, fmt.Errorf(
			"backup %s is still %s; Velero may write its contents anew until it has ended",
			name,
			b.Status.Phase,
		)
	default:
		return nil, fmt.Errorf("backup %s is still %s; its contents are known once it has ended", name, b.Status.Phase)
	}
}

// Index is what a backup holds, downloaded if it never was; progress is told how
// far that is. As [collector.Read] it may return an index and an error.
func (e *Store) Index(ctx context.Context, b *velerov1.Backup, progress Progress) (*collector.Index, error) {
	return e.indexes.Index(ctx, string(b.UID), func(ctx context.Context) (*collector.Index, error) {
		if e.readOnly {
			return nil, ErrNoDownload
		}
		body, err := e.open(ctx, b.Name, progress)
		if err != nil {
			return nil, err
		}
		defer func() { _ = body.Close() }()
		// With labels, because later questions may have selectors.
		index, err := collector.Read(ctx, body, collector.Limits{})
		if err != nil {
			return index, fmt.Errorf("backup %s: %w", b.Name, err)
		}
		return index, nil
	})
}

func (e *Store) open(ctx context.Context, backup string, progress Progress) (*counted, error) {
	stream, err := e.artifacts.Open(ctx, artifact.Target{Kind: velerov1.DownloadTargetKindBackupContents, Name: backup})
	if err != nil {
		return nil, err
	}
	return &counted{ReadCloser: stream, total: max(stream.Size(), 0), progress: progress}, nil
}

// Estimate works out the answer to a restore's spec. began is when that restore began, zero if it
// has not. The namespaces of the target are asked for unless spec says them.
func (e *Store) Estimate(
	ctx context.Context,
	index *collector.Index,
	spec collector.RestoreSpec,
	began time.Time,
) (collector.Estimate, error) {
	refused := e.ReadPolicy(ctx, &spec)
	if refused != nil &&
		(!errors.Is(refused, ErrRefused) || !began.IsZero()) { // once it has begun, the policy may be gone
		return collector.Estimate{}, refused
	}
	kinds, notes, err := e.Kinds(ctx)
	if err == nil && !spec.Existing.Known {
		spec.Existing, notes, err = e.existing(ctx, began, notes)
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
		estimate.Refused = append(estimate.Refused, human.Capital(sanitize.String(refused.Error()))+".")
	}
	return estimate, nil
}

// ErrRefused means that Velero refuses a restore for what it refers to.
var ErrRefused = errors.New("velero would refuse it now")

// ReadPolicy reads the resource policy that a restore's spec names, if that has any effect and is not known.
// One that is missing or not valid is an [ErrRefused].
func (e *Store) ReadPolicy(ctx context.Context, spec *collector.RestoreSpec) error {
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
		return fmt.Errorf("there is no ConfigMap %s with its resource policy: %w", r.Name, ErrRefused)
	case err != nil:
		return fmt.Errorf("what the resource policy %s selects: %w", r.Name, err)
	}
	var err error
	if spec.Policy, err = velero.ParseRestorePolicy(found.Data); err != nil {
		return fmt.Errorf("resource policy %s: %w: %w", r.Name, err, ErrRefused)
	}
	return nil
}

// Kinds are those that the target serves. Notes say what it did not tell.
func (e *Store) Kinds(ctx context.Context) (d collector.Discovery, notes []string, err error) {
	kinds, err := e.client.Kinds(ctx)
	if err != nil {
		return d, nil, fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	for group := range kinds.Silent {
		notes = append(notes, fmt.Sprintf("The target did not list the kinds of %s.", group))
	}
	slices.Sort(notes)
	return collector.LiveDiscovery(kinds.Preferred()), notes, nil
}

// existing is Existing for an answer that does without what may not be listed, and notes it.
func (e *Store) existing(ctx context.Context, began time.Time, notes []string) (collector.Namespaces, []string, error) {
	known, err := e.Existing(ctx, began)
	switch {
	case apierrors.IsForbidden(err):
		return known, append(notes, "You may not list the namespaces of the target."), nil
	case err != nil:
		return known, notes, fmt.Errorf("listing the target's namespaces: %w", err)
	}
	return known, notes, nil
}

// Existing are the namespaces older than a restore: Velero counts those that it made.
func (e *Store) Existing(ctx context.Context, began time.Time) (collector.Namespaces, error) {
	known := collector.Namespaces{Known: true}
	err := session.Pages(
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
		return collector.Namespaces{}, err
	}
	return known, nil
}

// MalformedNotes say what an estimate leaves out of a job's spec.
func MalformedNotes(j *job.Job) []string {
	var notes []string
	for _, m := range j.Malformed {
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

// RestoreSpec is the spec of a restore in the cluster.
func RestoreSpec(j *job.Job) (velerov1.RestoreSpec, error) {
	r, ok := j.Object.(*velerov1.Restore)
	switch {
	case !ok:
		return velerov1.RestoreSpec{}, fmt.Errorf("%s is not a restore", j.Name)
	case r.Spec.BackupName == "":
		return velerov1.RestoreSpec{}, fmt.Errorf("restore %s does not name a backup yet", j.Name)
	}
	return r.Spec, nil
}

// Tagged is a Velero server with that image tag.
func Tagged(tag string) collector.Server {
	v, _ := velero.ParseVersion(tag) // else zero: Estimate says that it is not known
	return collector.Server{Version: v, Tag: tag}
}

// ServerOf is the cluster's Velero server, with what its flags decide.
func ServerOf(s velero.Server) collector.Server {
	server := Tagged(s.Version)
	// Velero does not start with a value that cannot be parsed.
	if p, err := collector.ParsePriorities(s.Flags.RestorePriorities); err == nil && s.Flags.RestorePriorities != "" {
		server.Priorities = &p
	}
	// Before 1.14 the actions are a plugin's, which runs without the feature flag.
	if s.Running && (server.Version == [3]int{} || server.Version[0] > 1 || server.Version[1] >= 14) {
		csi := slices.Contains(s.Flags.Features, velerov1.CSIFeatureFlag)
		server.CSI = &csi
	}
	return server
}
