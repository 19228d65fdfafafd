package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/preflight"
	"github.com/veltui/veltui/target"
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
	index    *collector.Index
	mapping  string
	at       time.Time
	served   *target.Served
	versions map[string][]string
	state    *target.State
	around   *target.Surroundings
	unread   []preflight.NotLooked
}

// surveyAge is how long a survey is kept for the next question.
const surveyAge = 30 * time.Second

// surveyQuestion is the restore that a surveyor is asked about.
type surveyQuestion struct {
	velero preflight.Velero
	// index is what the backup holds, nil if it could not be read.
	index  *collector.Index
	unread []preflight.NotLooked
	spec   collector.RestoreSpec
	// keep looks at all that the backup holds, so that the answer to the next
	// question needs no other look unless the mapping of namespaces changes.
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
	if !q.keep || known.index != q.index || known.mapping != mapping || in.Now.Sub(known.at) > surveyAge {
		var err error
		if known, err = s.look(ctx, q, progress); err != nil {
			return nil, err
		}
		if known.mapping, known.at = mapping, in.Now; q.keep {
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

// look reads what there is to know of the cluster for a question.
func (s *surveyor) look(ctx context.Context, q surveyQuestion, progress func(target.Progress)) (survey, error) {
	found := survey{index: q.index}
	var err error
	if found.served, err = s.reader.Served(ctx); err != nil {
		if ctx.Err() != nil {
			return found, err
		}
		found.served = nil
		found.unread = append(found.unread, preflight.NotLooked{What: "the kinds that the cluster serves, and what is there of them", Why: err.Error()})
		return found, nil
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
	if found.around, err = s.reader.Surroundings(ctx, found.served, around); err != nil {
		return found, err
	}
	if found.state, err = s.reader.Look(ctx, found.served, question, progress); err != nil {
		return found, err
	}
	if s.needsVersions(found) {
		if found.versions, err = s.reader.Versions(ctx); err != nil && ctx.Err() != nil {
			return found, err
		}
	}
	return found, nil
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
	for _, j := range snap.Jobs {
		switch object := j.Object.(type) {
		case *velerov1.Backup:
			if j.Name == backup {
				v.Backup = object
			}
		case *velerov1.Restore:
			switch {
			case j.Terminal():
			case j.Stage == job.StageQueued:
				v.Waiting = append(v.Waiting, j.Name)
			default:
				v.Running = append(v.Running, j.Name)
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
