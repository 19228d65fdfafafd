package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Surveyor says what stands in the way of restores. Goroutines that use it wait for each other.
type Surveyor struct {
	reader  *live.Reader
	clock   func() time.Time
	cluster *Cluster

	mu   sync.Mutex
	last survey
}

type survey struct {
	index    *collector.Index
	mapping  string
	at       time.Time // when the oldest part of it had been read
	served   *live.Served
	versions map[string][]string
	state    *live.State
	asked    live.Around
	around   *live.Surroundings
	failing  map[string]string
	changed  map[string]time.Time
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
	Bodies Bodies  // Bodies, if it is not nil, asks how what exists differs from the backup
	DryRun *DryRun // DryRun, if it is not nil, asks the API server what it says to each object
}

func (q *SurveyQuestion) configs() []string {
	return preflight.Configs(q.Spec.Restore, q.Velero.Server.Flags.DefaultModifier)
}

func (c *Cluster) Surveyor() (*Surveyor, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	reader, err := live.New(live.Options{Config: config, Clock: c.Clock, Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Surveyor{reader: reader, clock: c.Clock, cluster: c}, nil
}

// Check finds what stands in the way, unless ctx ends or the API server rejects the credentials.
func (s *Surveyor) Check(
	ctx context.Context,
	q SurveyQuestion,
	progress func(live.Progress),
) (*preflight.Result, error) {
	in := preflight.Input{Restore: q.Spec.Restore, Velero: q.Velero, Index: q.Index, Unread: q.Unread, Now: s.clock()}
	if q.Index == nil {
		return preflight.Check(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.last
	preservesPorts := q.Spec.Restore.PreserveNodePorts != nil && *q.Spec.Restore.PreserveNodePorts
	mapping := fmt.Sprint(q.Spec.Restore.NamespaceMapping, preservesPorts, q.configs())
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
	in.Failing, in.Changed = known.failing, known.changed
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
	if q.DryRun != nil && fates != nil && known.state != nil {
		if in.DryRun, err = s.dryRun(ctx, q, known, fates); err != nil {
			return nil, err
		}
	}
	return preflight.Check(in)
}

// Cost is what its questions have cost so far.
func (s *Surveyor) Cost() live.Cost { return s.reader.Cost() }

// look reads what there is to know of the cluster for a question, but not again what is known.
func (s *Surveyor) look(
	ctx context.Context,
	q SurveyQuestion,
	known survey,
	progress func(live.Progress),
) (survey, error) {
	found := survey{index: q.Index, at: known.at, served: known.served, versions: known.versions}
	var err error
	if found.served == nil {
		if found.served, err = s.reader.Served(ctx); err != nil {
			if ctx.Err() != nil {
				return found, err
			}
			found.served = nil
			found.unread = append(
				found.unread,
				preflight.NotLooked{
					What: "the kinds that the cluster serves, and what is there of them",
					Why:  err.Error(),
				},
			)
			return found, nil
		}
	}
	spec := q.Spec
	if q.Keep {
		spec.Restore = velerov1.RestoreSpec{
			BackupName:        spec.Restore.BackupName,
			NamespaceMapping:  spec.Restore.NamespaceMapping,
			PreserveNodePorts: spec.Restore.PreserveNodePorts,
		}
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
	around.Configs = q.configs()
	if b := q.Velero.Backup; b != nil {
		around.Locations = b.Status.VolumeSnapshotsAttempted > 0
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
	if err := s.lookAtKinds(ctx, q.Index, question.Resources(), &found, known); err != nil {
		return found, err
	}
	if found.at.IsZero() {
		found.at = s.clock()
	}
	return found, nil
}

// lookAtKinds finds out in which versions the cluster serves what the backup holds, and whether it lists these.
func (s *Surveyor) lookAtKinds(
	ctx context.Context,
	index *collector.Index,
	resources []string,
	found *survey,
	known survey,
) (err error) {
	if found.failing, found.changed = known.failing, known.changed; found.failing != nil {
		found.unread = known.unread
		return nil
	}
	others, custom := []string{}, map[string]string{}
	for _, resource := range resources {
		stored, preferred := index.Version(resource), found.served.Version(resource)
		if stored != "" && preferred != "" &&
			stored != preferred { // it is stored in another one than the cluster prefers
			others = append(others, resource)
		}
		if _, group, _ := strings.Cut(resource, "."); preferred != "" && !collector.IsBuiltIn(group) {
			custom[resource] = cmp.Or(stored, preferred)
		}
	}
	if len(others) > 0 {
		if found.versions, err = s.reader.Versions(ctx); err != nil && ctx.Err() != nil {
			return err
		}
		gone := slices.DeleteFunc(others, func(resource string) bool {
			versions := found.versions[resource]
			return len(versions) == 0 || slices.Contains(versions, index.Version(resource))
		})
		if found.changed, err = s.reader.Changed(ctx, found.served, gone); err != nil {
			return err
		}
	}
	var unseen []string
	if found.failing, unseen, err = s.reader.Failing(ctx, found.served, custom); len(unseen) > 0 {
		found.unread = append(
			found.unread,
			preflight.NotLooked{
				What: "whether the API server can list " + human.List(unseen, 3),
				Why:  "you may not list it in the whole cluster, as Velero does",
			},
		)
	}
	return err
}

// surround reads what surrounds a restore. If it wants the same as before but for the
// namespaces with quotas and limit ranges, those that are new are added.
func (s *Surveyor) surround(
	ctx context.Context,
	served *live.Served,
	want live.Around,
	known survey,
) (live.Around, *live.Surroundings, error) {
	before, within := known.asked, want.Within
	before.Within, want.Within = nil, nil
	if known.around == nil || !reflect.DeepEqual(before, want) {
		want.Within = within
		around, err := s.reader.Surroundings(ctx, served, want)
		return want, around, err
	}
	added := slices.DeleteFunc(
		slices.Clone(within),
		func(namespace string) bool { return slices.Contains(known.asked.Within, namespace) },
	)
	want.Within = slices.Concat(known.asked.Within, added)
	if len(added) == 0 {
		return want, known.around, nil
	}
	more, err := s.reader.Surroundings(ctx, served, live.Around{Within: added})
	if err != nil {
		return want, nil, err
	}
	around := *known.around
	if more.Saw(live.Namespaces, "") {
		around.Namespaces = more.Namespaces
	}
	around.Quotas, around.LimitRanges = slices.Concat(
		around.Quotas,
		more.Quotas,
	), slices.Concat(
		around.LimitRanges,
		more.LimitRanges,
	)
	of := func(n live.NotSeen) bool { return n.Resource == live.Quotas || n.Resource == live.LimitRanges }
	around.NotSeen = slices.Concat(
		around.NotSeen,
		slices.DeleteFunc(slices.Clone(more.NotSeen), func(n live.NotSeen) bool { return !of(n) }),
	)
	return want, &around, nil
}

// spec says which namespaces exist, as far as that is known.
func (f *survey) spec(spec collector.RestoreSpec) collector.RestoreSpec {
	if f.around != nil && f.around.Saw(live.Namespaces, "") {
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
	v := preflight.Velero{
		Server:          snap.Server,
		LocationsUnseen: unseenSource(snap, watch.Locations),
		QueueUnseen:     unseenSource(snap, watch.Restores),
		DeletionsUnseen: unseenSource(snap, watch.Deletions),
		Agents:          snap.NodeAgents,
		AgentsUnseen:    unseenSource(snap, watch.Pods),
	}
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

// AddStored adds what Velero stored of a backup beside its items: what its operations made, if
// it had any, and its volumes, if it holds claims or pods.
func AddStored(ctx context.Context, v *preflight.Velero, e *Store, index *collector.Index) {
	if v.Backup == nil {
		return
	}
	operations := v.Backup.Status.BackupItemOperationsAttempted > 0
	hasVolumes := index != nil && slices.ContainsFunc(index.Contents(), func(r collector.ResourceCount) bool {
		return r.Resource == "persistentvolumeclaims" || r.Resource == "pods"
	})
	switch {
	case e.readOnly && operations:
		v.FinalizedUnseen = ErrReadOnlyDownload.Error()
	case operations:
		finalized, err := e.artifacts.Finalized(ctx, v.Backup)
		if err != nil {
			v.FinalizedUnseen = sanitize.String(err.Error())
		}
		v.NotFinalized = !finalized
	}
	switch {
	case e.readOnly && hasVolumes:
		v.VolumesUnseen = ErrReadOnlyDownload.Error()
	case hasVolumes:
		var err error // Velero before 1.13 stores no record
		if v.Volumes, err = e.artifacts.Volumes(
			ctx,
			job.Backup,
			v.Backup.Name,
		); err != nil &&
			!errors.Is(err, artifact.ErrAbsent) {
			v.VolumesUnseen = sanitize.String(err.Error())
		}
		sanitize.Object(&v.Volumes)
	}
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
type Bodies func(
	ctx context.Context,
	wanted func(resource, namespace, name string) bool,
	visit func(resource, namespace, name string, body []byte),
) error

// Bodies reads them out of the backup's tarball, once more; progress is told how far that is.
func (e *Store) Bodies(backup string, progress Progress) Bodies {
	return func(
		ctx context.Context,
		wanted func(resource, namespace, name string) bool,
		visit func(resource, namespace, name string, body []byte),
	) error {
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
func (s *Surveyor) compare(
	ctx context.Context,
	q SurveyQuestion,
	known survey,
	in *preflight.Input,
	progress func(live.Progress),
) error {
	rules, lacking := rulesOf(q, known)
	unread := func(what string, err error) {
		in.Unread = append(in.Unread, preflight.NotLooked{What: what, Why: err.Error()})
	}
	if lacking != "" {
		unread("whether Velero changes images or storage classes before it compares", errors.New(lacking))
	}
	c, err := preflight.NewComparison(in.Fates, known.state, rules, versionsOf(q))
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
		in.Unread = append(
			in.Unread,
			preflight.NotLooked{
				What:      "how " + n.Resource + " differ from the backup",
				Resource:  n.Resource,
				Namespace: n.Namespace,
				Why:       n.Why,
			},
		)
	}
	in.Existing = c.Existing(unseen, broken)
	return nil
}
