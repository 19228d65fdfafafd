package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/preflight"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Surveyor says what stands in the way of restores. Goroutines that use it wait for each other.
type Surveyor struct {
	reader *target.Reader
	clock  func() time.Time

	mu   sync.Mutex
	last survey
}

type survey struct {
	index    *collector.Index
	mapping  string
	at       time.Time // when the oldest part of it had been read
	served   *target.Served
	versions map[string][]string
	state    *target.State
	asked    target.Around
	around   *target.Surroundings
	unread   []preflight.NotLooked
}

// SurveyAge is how long a survey answers further questions: as long as one fills in a form.
const SurveyAge = time.Minute

// SurveyQuestion is the restore that a Surveyor is asked about.
type SurveyQuestion struct {
	Velero preflight.Velero
	Index  *collector.Index // what the backup holds, nil if it could not be read
	Unread []preflight.NotLooked
	Spec   collector.RestoreSpec
	// Keep looks at all that the backup holds, so that the next question needs no other
	// look. If it maps namespaces in another way, only those that are new are looked at.
	Keep   bool
	Bodies Bodies // Bodies, if it is not nil, asks how what exists differs from the backup
}

func (c *Cluster) Surveyor() (*Surveyor, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	reader, err := target.New(target.Options{Config: config, Clock: c.Clock, Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Surveyor{reader: reader, clock: c.Clock}, nil
}

// Check finds what stands in the way, unless ctx ends or the API server rejects the credentials.
func (s *Surveyor) Check(ctx context.Context, q SurveyQuestion, progress func(target.Progress)) (*preflight.Result, error) {
	in := preflight.Input{Restore: q.Spec.Restore, Velero: q.Velero, Index: q.Index, Unread: q.Unread, Now: s.clock()}
	if q.Index == nil {
		return preflight.Check(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.last
	preservesPorts := q.Spec.Restore.PreserveNodePorts != nil && *q.Spec.Restore.PreserveNodePorts
	mapping := fmt.Sprint(q.Spec.Restore.NamespaceMapping, preservesPorts)
	if !q.Keep || known.index != q.Index || in.Now.Sub(known.at) > SurveyAge {
		known = survey{index: q.Index}
	}
	if known.at.IsZero() || known.mapping != mapping {
		var err error
		if known, err = s.look(ctx, q, known, progress); err != nil {
			return nil, err
		}
		if known.mapping = mapping; q.Keep {
			s.last = known
		}
	}
	in.Served, in.Versions, in.State, in.Around = known.served, known.versions, known.state, known.around
	in.Unread = slices.Concat(q.Unread, known.unread)
	fates, err := q.Index.Fates(ctx, known.spec(q.Spec), known.discovery())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		in.Refused = err.Error() + "."
	default:
		in.Fates = fates
	}
	if q.Bodies != nil && fates != nil && known.state != nil {
		if err := s.compare(ctx, q, known, &in, progress); err != nil {
			return nil, err
		}
	}
	return preflight.Check(in)
}

// Cost is what its questions have cost so far.
func (s *Surveyor) Cost() target.Cost { return s.reader.Cost() }

// look reads what there is to know of the cluster for a question, but not again what is known.
func (s *Surveyor) look(ctx context.Context, q SurveyQuestion, known survey, progress func(target.Progress)) (survey, error) {
	found := survey{index: q.Index, at: known.at, served: known.served, versions: known.versions}
	var err error
	if found.served == nil {
		if found.served, err = s.reader.Served(ctx); err != nil {
			if ctx.Err() != nil {
				return found, err
			}
			found.served = nil
			found.unread = append(found.unread, preflight.NotLooked{What: "the kinds that the cluster serves, and what is there of them", Why: err.Error()})
			return found, nil
		}
	}
	spec := q.Spec
	if q.Keep {
		spec.Restore = velerov1.RestoreSpec{BackupName: spec.Restore.BackupName, NamespaceMapping: spec.Restore.NamespaceMapping, PreserveNodePorts: spec.Restore.PreserveNodePorts}
	}
	fates, err := q.Index.Fates(ctx, found.spec(spec), found.discovery())
	if err != nil {
		return found, context.Cause(ctx) // else it is refused, and check says so
	}
	velero := ""
	if q.Velero.Backup != nil {
		velero = q.Velero.Backup.Namespace
	}
	question, around, err := preflight.Ask(fates, spec.Restore, velero)
	if err != nil {
		return found, err
	}
	if found.asked, found.around, err = s.surround(ctx, found.served, around, known); err != nil {
		return found, err
	}
	if known.state != nil {
		question.Reuse(known.state)
	}
	if found.state, err = s.reader.Look(ctx, found.served, question, progress); err != nil {
		return found, err
	}
	otherVersion := func(r collector.ResourceCount) bool { // it is stored in another one than the cluster prefers
		stored, preferred := q.Index.Version(r.Resource), found.served.Version(r.Resource)
		return stored != "" && preferred != "" && stored != preferred
	}
	if found.versions == nil && slices.ContainsFunc(q.Index.Contents(), otherVersion) {
		if found.versions, err = s.reader.Versions(ctx); err != nil && ctx.Err() != nil {
			return found, err
		}
	}
	if found.at.IsZero() {
		found.at = s.clock()
	}
	return found, nil
}

// surround reads what surrounds a restore. If it wants the same as before but for the
// namespaces with quotas and limit ranges, those that are new are added.
func (s *Surveyor) surround(ctx context.Context, served *target.Served, want target.Around, known survey) (target.Around, *target.Surroundings, error) {
	before, within := known.asked, want.Within
	before.Within, want.Within = nil, nil
	if known.around == nil || !reflect.DeepEqual(before, want) {
		want.Within = within
		around, err := s.reader.Surroundings(ctx, served, want)
		return want, around, err
	}
	added := slices.DeleteFunc(slices.Clone(within), func(namespace string) bool { return slices.Contains(known.asked.Within, namespace) })
	want.Within = slices.Concat(known.asked.Within, added)
	if len(added) == 0 {
		return want, known.around, nil
	}
	more, err := s.reader.Surroundings(ctx, served, target.Around{Within: added})
	if err != nil {
		return want, nil, err
	}
	around := *known.around
	if more.Saw(target.Namespaces, "") {
		around.Namespaces = more.Namespaces
	}
	around.Quotas, around.LimitRanges = slices.Concat(around.Quotas, more.Quotas), slices.Concat(around.LimitRanges, more.LimitRanges)
	of := func(n target.NotSeen) bool { return n.Resource == target.Quotas || n.Resource == target.LimitRanges }
	around.NotSeen = slices.Concat(around.NotSeen, slices.DeleteFunc(slices.Clone(more.NotSeen), func(n target.NotSeen) bool { return !of(n) }))
	return want, &around, nil
}

// spec says which namespaces exist, as far as that is known.
func (f *survey) spec(spec collector.RestoreSpec) collector.RestoreSpec {
	if f.around != nil && f.around.Saw(target.Namespaces, "") {
		spec.Existing.Known = true
		spec.Existing.Names = slices.AppendSeq(spec.Existing.Names, maps.Keys(f.around.Namespaces))
	}
	return spec
}

func (f *survey) discovery() collector.Discovery {
	if f.served == nil {
		return collector.Discovery{}
	}
	return collector.LiveDiscovery(f.served.Lists)
}

// VeleroState is what a snapshot tells of Velero and of a backup.
func VeleroState(snap *watch.Snapshot, backup string) preflight.Velero {
	v := preflight.Velero{Server: snap.Server, LocationsUnseen: unseenSource(snap, watch.Locations), QueueUnseen: unseenSource(snap, watch.Restores), DeletionsUnseen: unseenSource(snap, watch.Deletions)}
	env := snap.Environment(snap.At)
	for _, j := range snap.Jobs {
		switch object := j.Object.(type) {
		case *velerov1.Backup:
			if j.Name == backup {
				v.Backup = object
			}
		case *velerov1.Restore:
			switch {
			case j.Stage == job.StageQueued:
				v.Waiting = append(v.Waiting, j.Name)
			case j.Phase == velero.PhaseInProgress && !diagnosis.Released(j, env):
				v.Running = append(v.Running, j.Name) // a later phase leaves the worker free
			}
		}
	}
	for _, d := range snap.Deletions {
		if d.Spec.BackupName == backup && d.Status.Phase != velerov1.DeleteBackupRequestPhaseProcessed {
			v.Deletion = d
		}
	}
	if v.Backup == nil {
		return v
	}
	for _, l := range snap.Locations {
		if l.Name == v.Backup.Spec.StorageLocation {
			v.Location = l
		}
	}
	return v
}

// AddFinalized adds whether Velero stored what a backup's operations made, if it had any.
func AddFinalized(ctx context.Context, v *preflight.Velero, e *Store) {
	if v.Backup == nil || v.Backup.Status.BackupItemOperationsAttempted == 0 {
		return
	}
	if e.readOnly {
		v.FinalizedUnseen = ErrReadOnlyDownload.Error()
		return
	}
	finalized, err := e.artifacts.Finalized(ctx, v.Backup)
	if err != nil {
		v.FinalizedUnseen = sanitize.String(err.Error())
	}
	v.NotFinalized = !finalized
}

// unseenSource is why a kind could not be read, empty if it was.
func unseenSource(snap *watch.Snapshot, resource string) string {
	for _, s := range snap.Sources {
		if s.Resource != resource {
			continue
		}
		switch s.State {
		case watch.SourceForbidden:
			return "you may not list them"
		case watch.SourceMissing:
			return "the cluster does not serve " + resource
		case watch.SourceStale:
			return "what veltui knows of them is old: " + s.Err
		}
	}
	return ""
}

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
		rules.Plugins = known.around.PluginConfigs
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
