package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/preflight"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// surveyor says what stands in the way of restores into one cluster. It may be used
// by several goroutines; they wait for each other.
type surveyor struct {
	reader *target.Reader
	clock  func() time.Time

	mu   sync.Mutex
	last survey
}

// survey is what was found of the cluster.
type survey struct {
	index   *collector.Index
	mapping string
	// at is when the oldest part of it had been read.
	at       time.Time
	served   *target.Served
	versions map[string][]string
	state    *target.State
	asked    target.Around
	around   *target.Surroundings
	unread   []preflight.NotLooked
}

// surveyAge is how long a survey answers further questions: about as long as it takes
// to fill in a form.
const surveyAge = time.Minute

// surveyQuestion is the restore that a surveyor is asked about.
type surveyQuestion struct {
	velero preflight.Velero
	// index is what the backup holds, nil if it could not be read.
	index  *collector.Index
	unread []preflight.NotLooked
	spec   collector.RestoreSpec
	// keep looks at all that the backup holds, so that the next question needs no other
	// look. If it maps namespaces in another way, only those that are new are looked at.
	keep bool
	// bodies, if it is not nil, asks how what exists differs from the backup.
	bodies bodies
}

func newSurveyor(config *rest.Config, clock func() time.Time, log *slog.Logger) (*surveyor, error) {
	reader, err := target.New(target.Options{Config: config, Clock: clock, Log: log})
	if err != nil {
		return nil, err
	}
	return &surveyor{reader: reader, clock: clock}, nil
}

// check finds what stands in the way. Its error is that ctx ended, or that the API
// server rejects the credentials.
func (s *surveyor) check(ctx context.Context, q surveyQuestion, progress func(target.Progress)) (*preflight.Result, error) {
	in := preflight.Input{Restore: q.spec.Restore, Velero: q.velero, Index: q.index, Unread: q.unread, Now: s.clock()}
	if q.index == nil {
		return preflight.Check(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.last
	preservesPorts := q.spec.Restore.PreserveNodePorts != nil && *q.spec.Restore.PreserveNodePorts
	mapping := fmt.Sprint(q.spec.Restore.NamespaceMapping, preservesPorts)
	if !q.keep || known.index != q.index || in.Now.Sub(known.at) > surveyAge {
		known = survey{index: q.index}
	}
	if known.at.IsZero() || known.mapping != mapping {
		var err error
		if known, err = s.look(ctx, q, known, progress); err != nil {
			return nil, err
		}
		if known.mapping = mapping; q.keep {
			s.last = known
		}
	}
	in.Served, in.Versions, in.State, in.Around = known.served, known.versions, known.state, known.around
	in.Unread = slices.Concat(q.unread, known.unread)
	fates, err := q.index.Fates(ctx, known.spec(q.spec), known.discovery())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		in.Refused = err.Error() + "."
	default:
		in.Fates = fates
	}
	if q.bodies != nil && fates != nil && known.state != nil {
		if err := s.compare(ctx, q, known, &in, progress); err != nil {
			return nil, err
		}
	}
	return preflight.Check(in)
}

// look reads what there is to know of the cluster for a question, but not again what
// is known.
func (s *surveyor) look(ctx context.Context, q surveyQuestion, known survey, progress func(target.Progress)) (survey, error) {
	found := survey{index: q.index, at: known.at, served: known.served, versions: known.versions}
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
	spec := q.spec
	if q.keep {
		spec.Restore = velerov1.RestoreSpec{BackupName: spec.Restore.BackupName, NamespaceMapping: spec.Restore.NamespaceMapping, PreserveNodePorts: spec.Restore.PreserveNodePorts}
	}
	fates, err := q.index.Fates(ctx, found.spec(spec), found.discovery())
	if err != nil {
		return found, context.Cause(ctx) // else it is refused, and check says so
	}
	velero := ""
	if q.velero.Backup != nil {
		velero = q.velero.Backup.Namespace
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
	if found.versions == nil && s.needsVersions(found) {
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
func (s *surveyor) surround(ctx context.Context, served *target.Served, want target.Around, known survey) (target.Around, *target.Surroundings, error) {
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

// needsVersions says whether some resource is stored in another version than the
// one that the cluster prefers.
func (s *surveyor) needsVersions(found survey) bool {
	return slices.ContainsFunc(found.index.Contents(), func(r collector.ResourceCount) bool {
		stored, preferred := found.index.Version(r.Resource), found.served.Version(r.Resource)
		return stored != "" && preferred != "" && stored != preferred
	})
}

// spec says which namespaces exist, as far as that is known.
func (f *survey) spec(spec collector.RestoreSpec) collector.RestoreSpec {
	if f.around != nil && f.around.Saw(target.Namespaces, "") {
		spec.Existing.Known = true
		for name := range f.around.Namespaces {
			spec.Existing.Names = append(spec.Existing.Names, name)
		}
	}
	return spec
}

func (f *survey) discovery() collector.Discovery {
	if f.served == nil {
		return collector.Discovery{}
	}
	return collector.LiveDiscovery(f.served.Lists)
}

// veleroState is what a snapshot tells of Velero and of a backup.
func veleroState(snap *watch.Snapshot, backup string) preflight.Velero {
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

// addFinalized adds whether Velero stored what the backup's operations made. Only a
// backup with operations costs requests.
func addFinalized(ctx context.Context, v *preflight.Velero, e *estimator) {
	if v.Backup == nil || v.Backup.Status.BackupItemOperationsAttempted == 0 {
		return
	}
	if e.readOnly {
		v.FinalizedUnseen = errReadOnlyDownload.Error()
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
