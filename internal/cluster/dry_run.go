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

// DryRunTakes is about how long a dry run of some objects takes.
func DryRunTakes(objects int) time.Duration {
	return time.Duration(objects/dryrun.DefaultQPS) * time.Second
}

// DryRunCost says what a dry run of some objects of these resources takes: time, and where it is not proven beforehand
// that a dry run is one.
func DryRunCost(objects int, resources []string) string {
	text := fmt.Sprintf(
		"A dry run of %s takes about %s",
		human.Count(objects, "object"),
		human.Duration(DryRunTakes(objects)),
	)
	var groups []string
	for _, resource := range resources {
		if _, group, _ := strings.Cut(resource, "."); !collector.IsBuiltIn(group) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	if groups = slices.Compact(groups); len(groups) > 0 {
		text += fmt.Sprintf(" (not proven yet that it stores nothing of %s)", human.List(groups, 3))
	}
	return text
}

// DryRun says how the API server is asked about a restore.
type DryRun struct {
	Bodies   Bodies
	QPS      int                   // requests a second; 0 for the default
	Secrets  bool                  // Secrets sends the bodies of Secrets, too
	StandIn  string                // StandIn is a namespace in place of those that do not exist yet, empty for none
	Progress func(sent, total int) // may be nil
}

// dryRun sends what a restore would create. It checks first that the kubeconfig still leads to the same cluster, as
// for every write.
func (s *Surveyor) dryRun(
	ctx context.Context,
	q SurveyQuestion,
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
	if err := conn.Session.Check(ctx); err != nil {
		return nil, fmt.Errorf("checking the cluster before a dry run: %w", err)
	}
	account := dryrun.Account{Name: q.Velero.Server.ServiceAccount}
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
	estimate, err := q.Index.Estimate(ctx, known.spec(q.Spec), known.discovery())
	if err != nil {
		return nil, err
	}
	rules, _ := rulesOf(q, known)
	query := dryrun.Query{
		Reach: conn.Request.Reach(),
		Fates: fates, State: known.state, Rules: &rules, Bodies: q.DryRun.Bodies,
		Secrets: q.DryRun.Secrets, StandIn: q.DryRun.StandIn, Progress: q.DryRun.Progress,
	}
	rules.Volumes = map[string]string{}
	for _, v := range q.Velero.Volumes {
		rules.Volumes[v.PersistentVolume] = v.Method
	}
	rules.ClaimExists = func(namespace, name string) bool {
		_, seen := known.state.Find("persistentvolumeclaims", namespace, name)
		return seen == live.There
	}
	if known.around.Saw(live.Namespaces, "") {
		query.Namespaces = known.around.Namespaces
		if _, exists := query.Namespaces[query.StandIn]; query.StandIn != "" && !exists {
			return nil, fmt.Errorf(
				"namespace %s is to stand in for new ones in the dry run, and does not exist",
				query.StandIn,
			)
		}
	}
	for _, r := range estimate.Resources {
		query.Order = append(query.Order, r.Resource)
	}
	versions := versionsOf(q)
	query.Ambiguous = func(resource string) bool { return len(versions(resource)) > 1 }
	return dryrun.Run(ctx, sender, query)
}

// rulesOf are the rules by which Velero prepares the items of a restore. unread is why they may lack something.
func rulesOf(q SurveyQuestion, known survey) (rules prepare.Rules, unread string) {
	applied := preflight.ModifierOf(q.Spec.Restore, q.Velero.Server.Flags.DefaultModifier, known.around)
	rules = prepare.Rules{Restore: q.Spec.Restore, Server: q.Velero.Server.Version, Modifier: applied.Rules}
	if applied.Rules == nil {
		rules.UnreadModifier = applied.Name
	}
	if server := q.Velero.Server; server.Visible && server.Name != "" {
		csi := slices.Contains(server.Flags.Features, "EnableCSI")
		rules.CSI = &csi
	}
	if b := q.Velero.Backup; b != nil {
		rules.NativeSnapshots = b.Status.VolumeSnapshotsAttempted > 0
		rules.Plugins, rules.ClassMap = known.around.PluginConfigs, known.around.ClassMap
		unread = known.around.Why(live.ConfigMaps, "")
	}
	return rules, unread
}

// versionsOf says in which API versions the backup holds a resource where Velero may take any of them.
func versionsOf(q SurveyQuestion) func(resource string) []string {
	server := q.Velero.Server
	if !server.Visible || server.Name == "" || slices.Contains(server.Flags.Features, "EnableAPIGroupVersions") {
		return q.Index.Versions
	}
	return func(string) []string { return nil }
}
