package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/dryrun"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/prepare"
)

// DryRunDuration returns about how long a dry run of some objects takes.
func DryRunDuration(objects int) time.Duration {
	return time.Duration(objects/dryrun.DefaultQPS) * time.Second
}

// DryRunCostText says what a dry run of some objects of these resources costs: time, and a risk where nothing proves
// beforehand that a dry run writes nothing.
func DryRunCostText(objects int, resources []string) string {
	text := fmt.Sprintf(
		"A dry run of %s takes about %s",
		human.Count(objects, "object"),
		human.Duration(DryRunDuration(objects)),
	)
	var groups []string
	for _, resource := range resources {
		if _, group, _ := strings.Cut(resource, "."); !collector.IsBuiltIn(group) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	if groups = slices.Compact(groups); len(groups) > 0 {
		text += fmt.Sprintf(" (not proven yet that it stores nothing of %s)", human.JoinNames(groups, 3))
	}
	return text
}

// DryRunOptions control how the API server is asked about a restore.
type DryRunOptions struct {
	Bodies      BodyReader
	QPS         int  // requests per second; 0 for the default
	SendSecrets bool // SendSecrets sends the bodies of Secrets, too
	// StandInNamespace is a namespace used for those that do not exist yet, empty for none
	StandInNamespace string
	Progress         func(sent, total int) // may be nil
}

// sendDryRun sends what a restore would create. It first checks that the kubeconfig still leads to the same cluster,
// as before every write.
func (s *Surveyor) sendDryRun(
	ctx context.Context,
	q SurveyQuery,
	known survey,
	fates *collector.Fates,
) (*preflight.DryRun, error) {
	if s.cluster.ReadOnly {
		return nil, dryrun.ErrReadOnly
	}
	conn, err := s.cluster.Connect()
	if err != nil {
		return nil, err
	}
	if err := conn.Session.CheckCluster(ctx); err != nil {
		return nil, fmt.Errorf("checking the cluster before a dry run: %w", err)
	}
	account := dryrun.ServiceAccount{Name: q.Velero.Server.ServiceAccount}
	if b := q.Velero.Backup; b != nil {
		account.Namespace = b.Namespace
	}
	sender, err := dryrun.NewSender(
		ctx,
		dryrun.Options{Config: conn.Config, ReadOnly: s.cluster.ReadOnly, QPS: q.DryRun.QPS, Velero: account},
	)
	if err != nil {
		return nil, err
	}
	estimate, err := q.Index.Estimate(ctx, known.addNamespaces(q.Spec), known.buildDiscovery())
	if err != nil {
		return nil, err
	}
	rules, _ := buildRules(q, known)
	query := dryrun.Query{
		ClusterAccess: conn.Request.ClusterAccess(),
		Fates:         fates, State: known.state, Rules: &rules, ReadBodies: q.DryRun.Bodies,
		SendSecrets: q.DryRun.SendSecrets, StandInNamespace: q.DryRun.StandInNamespace, Progress: q.DryRun.Progress,
	}
	rules.VolumeMethods = map[string]string{}
	for _, v := range q.Velero.Volumes {
		rules.VolumeMethods[v.PersistentVolume] = v.Method
	}
	rules.ClaimExists = func(namespace, name string) bool {
		_, seen := known.state.FindItem("persistentvolumeclaims", namespace, name)
		return seen == live.Present
	}
	if known.environment.WasChecked(live.Namespaces, "") {
		query.Namespaces = known.environment.Namespaces
		if _, exists := query.Namespaces[query.StandInNamespace]; query.StandInNamespace != "" && !exists {
			return nil, fmt.Errorf(
				"namespace %s is to stand in for new ones in the dry run, and does not exist",
				query.StandInNamespace,
			)
		}
	}
	for _, r := range estimate.Resources {
		query.Order = append(query.Order, r.Resource)
	}
	versions := ambiguousVersions(q)
	query.IsAmbiguous = func(resource string) bool { return len(versions(resource)) > 1 }
	return dryrun.Run(ctx, sender, query)
}

// buildRules returns the rules by which Velero prepares the items of a restore. unread says why the rules may be
// incomplete.
func buildRules(q SurveyQuery, known survey) (rules prepare.Rules, unread string) {
	applied := preflight.FindModifier(q.Spec.Restore, q.Velero.Server.Flags.DefaultResourceModifier, known.environment)
	rules = prepare.Rules{Restore: q.Spec.Restore, Server: q.Velero.Server.Version, Modifier: applied.Rules}
	if applied.Rules == nil {
		rules.UnreadModifier = applied.Name
	}
	if server := q.Velero.Server; server.Visible && server.Name != "" {
		csi := slices.Contains(server.Flags.Features, "EnableCSI")
		rules.CSIEnabled = &csi
	}
	if b := q.Velero.Backup; b != nil {
		rules.NativeSnapshots = b.Status.VolumeSnapshotsAttempted > 0
		rules.Plugins, rules.StorageClassMap = known.environment.PluginConfigs, known.environment.StorageClassMap
		unread = known.environment.UncheckedReason(live.ConfigMaps, "")
	}
	return rules, unread
}

// ambiguousVersions returns a function that returns the API versions in which the backup holds a resource, if Velero
// may take any of them.
func ambiguousVersions(q SurveyQuery) func(resource string) []string {
	server := q.Velero.Server
	if !server.Visible || server.Name == "" || slices.Contains(server.Flags.Features, "EnableAPIGroupVersions") {
		return q.Index.APIVersions
	}
	return func(string) []string { return nil }
}
