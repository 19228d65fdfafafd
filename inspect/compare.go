package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/restore/preflight"
	"github.com/veltui/veltui/restore/target"
)

// Bodies reads what a backup holds of the items that are wanted.
type Bodies func(ctx context.Context, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error

// Bodies reads them out of the backup's tarball, once more; progress is told how far that is.
func (e *Store) Bodies(backup string, progress Progress) Bodies {
	return func(ctx context.Context, wanted func(resource, namespace, name string) bool, visit func(resource, namespace, name string, body []byte)) error {
		if e.readOnly {
			return ErrNoDownload
		}
		body, err := e.open(ctx, backup, progress)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return collector.Bodies(ctx, body, collector.Limits{}, wanted, visit)
	}
}

// compare holds the objects that exist against what the backup holds of them.
func (s *Surveyor) compare(ctx context.Context, q SurveyQuestion, known survey, in *preflight.Input, progress func(target.Progress)) error {
	rules := preflight.Rules{Restore: q.Spec.Restore, Server: q.Velero.Server.Version, DefaultModifier: q.Velero.Server.Flags.DefaultModifier, Versions: func(string) []string { return nil }}
	unread := func(what string, err error) {
		in.Unread = append(in.Unread, preflight.NotLooked{What: what, Why: err.Error()})
	}
	server := q.Velero.Server
	if server.Visible && server.Name != "" {
		csi := slices.Contains(server.Flags.Features, "EnableCSI")
		rules.CSI = &csi
	}
	if rules.CSI == nil || slices.Contains(server.Flags.Features, "EnableAPIGroupVersions") {
		rules.Versions = q.Index.Versions
	}
	if b := q.Velero.Backup; b != nil {
		rules.NativeSnapshots = b.Status.VolumeSnapshotsAttempted > 0
		if why := known.around.Why(target.ConfigMaps, ""); why != "" {
			unread("whether Velero changes images or storage classes before it compares", errors.New(why))
		}
		rules.Plugins = map[string]bool{}
		for action := range known.around.PluginConfigs {
			rules.Plugins[action] = true
		}
	}
	c, err := preflight.NewComparison(in.Fates, known.state, rules)
	if err != nil {
		return err
	}
	in.Compared = true
	if c.Len() == 0 {
		return nil
	}
	broken := q.Bodies(ctx, c.Wants, c.Backup)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in.Unread = append(in.Unread, c.Unlooked()...)
	if broken != nil {
		unread("how what exists differs from the backup", broken)
	}
	unseen, err := s.reader.LookWhole(ctx, known.served, c.Question(), q.Index.Version, c.Live, progress)
	if err != nil {
		return err
	}
	for _, n := range unseen {
		in.Unread = append(in.Unread, preflight.NotLooked{What: "how " + n.Resource + " differ from the backup", Resource: n.Resource, Namespace: n.Namespace, Why: n.Why})
	}
	in.Existing = c.Existing(unseen, broken)
	return nil
}
