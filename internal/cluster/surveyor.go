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

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// Surveyor finds what stands in the way of restores. Goroutines that use it wait for each other.
type Surveyor struct {
	reader  *live.Reader
	clock   func() time.Time
	cluster *Cluster

	mu   sync.Mutex
	last survey
}

type survey struct {
	index           *collector.Index
	mapping         string
	oldestReadAt    time.Time // when the oldest part was read
	served          *live.ServedKinds
	versions        map[string][]string
	state           *live.State
	query           live.EnvironmentQuery
	environment     *live.Environment
	unlistableKinds map[string]string
	crdChanges      map[string]time.Time
	unchecked       []preflight.Unchecked
}

// MaxSurveyAge is how long a survey answers further queries: as long as it takes to fill in a form.
const MaxSurveyAge = time.Minute

// SurveyQuery is the restore that a Surveyor is asked about.
type SurveyQuery struct {
	Velero    preflight.VeleroState
	Index     *collector.Index // what the backup holds, nil if it could not be read
	Unchecked []preflight.Unchecked
	Spec      collector.RestoreInput
	// ReuseSurvey reads for everything that the backup holds, so that the next query needs no other survey. If the next
	// query maps namespaces differently, only the new ones are read.
	ReuseSurvey bool
	Bodies      BodyReader     // Bodies, if not nil, also compares existing objects with the backup
	DryRun      *DryRunOptions // DryRun, if not nil, asks the API server about each object
}

func (q *SurveyQuery) configNames() []string {
	return preflight.ConfigMapNames(q.Spec.Restore, q.Velero.Server.Flags.DefaultResourceModifier)
}

func (c *Cluster) NewSurveyor() (*Surveyor, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	reader, err := live.New(live.Options{Config: config, Clock: c.Clock, Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Surveyor{reader: reader, clock: c.Clock, cluster: c}, nil
}

// CheckRestore finds what stands in the way, unless ctx ends or the API server rejects the credentials.
func (s *Surveyor) CheckRestore(
	ctx context.Context,
	q SurveyQuery,
	progress func(live.Progress),
) (*preflight.Result, error) {
	in := preflight.Input{
		Restore:   q.Spec.Restore,
		Velero:    q.Velero,
		Index:     q.Index,
		Unchecked: q.Unchecked,
		Now:       s.clock(),
	}
	if q.Index == nil {
		return preflight.Check(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.last
	preservesPorts := q.Spec.Restore.PreserveNodePorts != nil && *q.Spec.Restore.PreserveNodePorts
	mapping := fmt.Sprint(q.Spec.Restore.NamespaceMapping, preservesPorts, q.configNames())
	if !q.ReuseSurvey || known.index != q.Index || in.Now.Sub(known.oldestReadAt) > MaxSurveyAge {
		known = survey{index: q.Index}
	}
	if known.oldestReadAt.IsZero() || known.mapping != mapping {
		var err error
		if known, err = s.runSurvey(ctx, q, known, progress); err != nil {
			return nil, err
		}
		if known.mapping = mapping; q.ReuseSurvey {
			s.last = known
		}
	}
	in.Served, in.Versions, in.State, in.Environment = known.served, known.versions, known.state, known.environment
	in.Unlistable, in.CRDChanges = known.unlistableKinds, known.crdChanges
	in.Unchecked = slices.Concat(q.Unchecked, known.unchecked)
	fates, err := q.Index.DetermineFates(ctx, known.addNamespaces(q.Spec), known.buildDiscovery())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		in.RefusalReason = human.EndSentence(err.Error())
	default:
		in.Fates = fates
	}
	if q.Bodies != nil && fates != nil && known.state != nil {
		if err := s.compareObjects(ctx, q, known, &in, progress); err != nil {
			return nil, err
		}
	}
	if q.DryRun != nil && fates != nil && known.state != nil {
		if in.DryRun, err = s.sendDryRun(ctx, q, known, fates); err != nil {
			return nil, err
		}
	}
	return preflight.Check(in)
}

// RequestCost returns the cost of the queries so far.
func (s *Surveyor) RequestCost() live.Cost { return s.reader.RequestCost() }

// runSurvey reads what a query needs to know about the cluster, except for what is already known.
func (s *Surveyor) runSurvey(
	ctx context.Context,
	q SurveyQuery,
	known survey,
	progress func(live.Progress),
) (survey, error) {
	found := survey{index: q.Index, oldestReadAt: known.oldestReadAt, served: known.served, versions: known.versions}
	var err error
	if found.served == nil {
		if found.served, err = s.reader.FetchServedKinds(ctx); err != nil {
			if ctx.Err() != nil {
				return found, err
			}
			found.served = nil
			found.unchecked = append(
				found.unchecked,
				preflight.Unchecked{
					What: "the kinds that the cluster serves, and what is there of them",
					Why:  err.Error(),
				},
			)
			return found, nil
		}
	}
	spec := q.Spec
	if q.ReuseSurvey {
		spec.Restore = veleroapi.RestoreSpec{
			BackupName:        spec.Restore.BackupName,
			NamespaceMapping:  spec.Restore.NamespaceMapping,
			PreserveNodePorts: spec.Restore.PreserveNodePorts,
		}
	}
	fates, err := q.Index.DetermineFates(ctx, found.addNamespaces(spec), found.buildDiscovery())
	if err != nil {
		return found, context.Cause(ctx) // otherwise the restore is refused, and the check reports it
	}
	velero := ""
	if q.Velero.Backup != nil {
		velero = q.Velero.Backup.Namespace
	}
	question, around, err := preflight.BuildQuery(fates, spec.Restore, velero)
	if err != nil {
		return found, err
	}
	around.ConfigMapNames = q.configNames()
	if b := q.Velero.Backup; b != nil {
		around.SnapshotLocations = b.Status.VolumeSnapshotsAttempted > 0
	}
	if found.query, found.environment, err = s.fetchEnvironment(ctx, found.served, around, known); err != nil {
		return found, err
	}
	if known.state != nil {
		question.ReuseState(known.state)
	}
	if found.state, err = s.reader.FetchState(ctx, found.served, question, progress); err != nil {
		return found, err
	}
	if err := s.surveyKinds(ctx, q.Index, question.Resources(), &found, known); err != nil {
		return found, err
	}
	if found.oldestReadAt.IsZero() {
		found.oldestReadAt = s.clock()
	}
	return found, nil
}

// surveyKinds finds out in which versions the cluster serves the backup's resources, and whether it lists them.
func (s *Surveyor) surveyKinds(
	ctx context.Context,
	index *collector.Index,
	resources []string,
	found *survey,
	known survey,
) (err error) {
	if found.unlistableKinds, found.crdChanges = known.unlistableKinds, known.crdChanges; found.unlistableKinds != nil {
		found.unchecked = known.unchecked
		return nil
	}
	others, custom := []string{}, map[string]string{}
	for _, resource := range resources {
		stored, preferred := index.PreferredVersion(resource), found.served.PreferredVersion(resource)
		if stored != "" && preferred != "" &&
			stored != preferred { // it is stored in another version than the cluster prefers
			others = append(others, resource)
		}
		if _, group, _ := strings.Cut(resource, "."); preferred != "" && !collector.IsBuiltIn(group) {
			custom[resource] = cmp.Or(stored, preferred)
		}
	}
	if len(others) > 0 {
		if found.versions, err = s.reader.FetchVersions(ctx); err != nil && ctx.Err() != nil {
			return err
		}
		gone := slices.DeleteFunc(others, func(resource string) bool {
			versions := found.versions[resource]
			return len(versions) == 0 || slices.Contains(versions, index.PreferredVersion(resource))
		})
		if found.crdChanges, err = s.reader.FetchCRDChanges(ctx, found.served, gone); err != nil {
			return err
		}
	}
	var unseen []string
	if found.unlistableKinds, unseen, err = s.reader.FindUnlistable(ctx, found.served, custom); len(unseen) > 0 {
		found.unchecked = append(
			found.unchecked,
			preflight.Unchecked{
				What: "whether the API server can list " + human.JoinNames(unseen, 3),
				Why:  "you may not list it in the whole cluster, as Velero does",
			},
		)
	}
	return err
}

// fetchEnvironment reads what surrounds a restore. If it wants the same as before except for the namespaces with
// quotas and limit ranges, only the new namespaces are read.
func (s *Surveyor) fetchEnvironment(
	ctx context.Context,
	served *live.ServedKinds,
	want live.EnvironmentQuery,
	known survey,
) (live.EnvironmentQuery, *live.Environment, error) {
	before, within := known.query, want.Namespaces
	before.Namespaces, want.Namespaces = nil, nil
	if known.environment == nil || !reflect.DeepEqual(before, want) {
		want.Namespaces = within
		around, err := s.reader.FetchEnvironment(ctx, served, want)
		return want, around, err
	}
	added := slices.DeleteFunc(
		slices.Clone(within),
		func(namespace string) bool { return slices.Contains(known.query.Namespaces, namespace) },
	)
	want.Namespaces = slices.Concat(known.query.Namespaces, added)
	if len(added) == 0 {
		return want, known.environment, nil
	}
	more, err := s.reader.FetchEnvironment(ctx, served, live.EnvironmentQuery{Namespaces: added})
	if err != nil {
		return want, nil, err
	}
	around := *known.environment
	if more.WasChecked(live.Namespaces, "") {
		around.Namespaces = more.Namespaces
	}
	around.Quotas, around.LimitRanges = slices.Concat(
		around.Quotas,
		more.Quotas,
	), slices.Concat(
		around.LimitRanges,
		more.LimitRanges,
	)
	of := func(n live.Unchecked) bool { return n.Resource == live.Quotas || n.Resource == live.LimitRanges }
	around.Unchecked = slices.Concat(
		around.Unchecked,
		slices.DeleteFunc(slices.Clone(more.Unchecked), func(n live.Unchecked) bool { return !of(n) }),
	)
	return want, &around, nil
}

// addNamespaces adds which namespaces exist, as far as known.
func (f *survey) addNamespaces(spec collector.RestoreInput) collector.RestoreInput {
	if f.environment != nil && f.environment.WasChecked(live.Namespaces, "") {
		spec.ExistingNamespaces.IsComplete = true
		spec.ExistingNamespaces.Names = slices.AppendSeq(spec.ExistingNamespaces.Names, maps.Keys(f.environment.Namespaces))
	}
	return spec
}

func (f *survey) buildDiscovery() collector.Discovery {
	if f.served == nil {
		return collector.Discovery{}
	}
	return collector.LiveDiscovery(f.served.ResourceLists)
}

// BuildVeleroState returns what a snapshot says about Velero and a backup.
func BuildVeleroState(snap *watch.Snapshot, backup string) preflight.VeleroState {
	v := preflight.VeleroState{
		Server:             snap.Server,
		LocationsUnchecked: sourceUnchecked(snap, watch.StorageLocations),
		QueueUnchecked:     sourceUnchecked(snap, watch.Restores),
		DeletionsUnchecked: sourceUnchecked(snap, watch.DeleteRequests),
		Agents:             snap.NodeAgents,
		AgentsUnchecked:    sourceUnchecked(snap, watch.Pods),
	}
	env := snap.BuildWorld(snap.At)
	for _, j := range snap.Jobs {
		switch object := j.Object.(type) {
		case *veleroapi.Backup:
			if j.Name == backup {
				v.Backup = object
			}
		case *veleroapi.Restore:
			switch {
			case j.Stage == job.StageQueued:
				v.Waiting = append(v.Waiting, j.Name)
			case j.Phase == velero.PhaseInProgress && !diagnosis.IsReleasedByWorker(j, env):
				v.Running = append(v.Running, j.Name) // a later phase leaves the worker free
			}
		}
	}
	for _, d := range snap.DeleteRequests {
		if d.Spec.BackupName == backup && d.Status.Phase != veleroapi.DeleteBackupRequestPhaseProcessed {
			v.Deletion = d
		}
	}
	if v.Backup == nil {
		return v
	}
	for _, l := range snap.StorageLocations {
		if l.Name == v.Backup.Spec.StorageLocation {
			v.Location = l
		}
	}
	return v
}

// AddStoredState adds what Velero stored of a backup beside its items: what its operations made, if it had any, and its
// volumes, if it holds claims or pods.
func AddStoredState(ctx context.Context, v *preflight.VeleroState, e *BackupStore, index *collector.Index) {
	if v.Backup == nil {
		return
	}
	operations := v.Backup.Status.BackupItemOperationsAttempted > 0
	hasVolumes := index != nil && slices.ContainsFunc(index.CountResources(), func(r collector.ResourceCount) bool {
		return r.Resource == "persistentvolumeclaims" || r.Resource == "pods"
	})
	switch {
	case e.readOnly && operations:
		v.FinalizedUnchecked = ErrReadOnlyDownload.Error()
	case operations:
		finalized, err := e.artifacts.IsFinalized(ctx, v.Backup)
		if err != nil {
			v.FinalizedUnchecked = sanitize.String(err.Error())
		}
		v.NotFinalized = !finalized
	}
	switch {
	case e.readOnly && hasVolumes:
		v.VolumesUnchecked = ErrReadOnlyDownload.Error()
	case hasVolumes:
		var err error // Velero before 1.13 stores no record
		if v.Volumes, err = e.artifacts.FetchVolumes(
			ctx,
			job.Backup,
			v.Backup.Name,
		); err != nil &&
			!errors.Is(err, artifact.ErrAbsent) {
			v.VolumesUnchecked = sanitize.String(err.Error())
		}
		sanitize.Object(&v.Volumes)
	}
}

// sourceUnchecked says why a kind could not be read, empty if it was read.
func sourceUnchecked(snap *watch.Snapshot, resource string) string {
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

// BodyReader reads the wanted items as the backup holds them.
type BodyReader func(
	ctx context.Context,
	wanted func(resource, namespace, name string) bool,
	visit func(resource, namespace, name string, body []byte),
) error

// NewBodyReader returns a reader that downloads the backup's tarball again; progress is called during the download.
func (e *BackupStore) NewBodyReader(backup string, progress Progress) BodyReader {
	return func(
		ctx context.Context,
		wanted func(resource, namespace, name string) bool,
		visit func(resource, namespace, name string, body []byte),
	) error {
		if e.readOnly {
			return ErrNoDownload
		}
		body, err := e.openContents(ctx, backup, progress)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return collector.VisitBodies(ctx, body, collector.Limits{}, wanted, visit)
	}
}

// compareObjects compares the existing objects with the backup's.
func (s *Surveyor) compareObjects(
	ctx context.Context,
	q SurveyQuery,
	known survey,
	in *preflight.Input,
	progress func(live.Progress),
) error {
	rules, lacking := buildRules(q, known)
	unread := func(what string, err error) {
		in.Unchecked = append(in.Unchecked, preflight.Unchecked{What: what, Why: err.Error()})
	}
	if lacking != "" {
		unread("whether Velero changes images or storage classes before it compares", errors.New(lacking))
	}
	c, err := preflight.NewComparison(in.Fates, known.state, rules, ambiguousVersions(q))
	if err != nil {
		return err
	}
	in.Compared = true
	if c.Len() == 0 {
		return nil
	}
	broken := q.Bodies(ctx, c.WantsBody, c.AddBackupItem)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in.Unchecked = append(in.Unchecked, c.UncheckedItems()...)
	if broken != nil {
		unread("how what exists differs from the backup", broken)
	}
	unseen, err := s.reader.FetchObjects(
		ctx,
		known.served,
		c.BuildQuery(),
		q.Index.PreferredVersion,
		c.CompareLive,
		progress,
	)
	if err != nil {
		return err
	}
	for _, n := range unseen {
		in.Unchecked = append(
			in.Unchecked,
			preflight.Unchecked{
				What:      "how " + n.Resource + " differ from the backup",
				Resource:  n.Resource,
				Namespace: n.Namespace,
				Why:       n.Why,
			},
		)
	}
	in.Existing = c.ExistingObjects(unseen, broken)
	return nil
}
