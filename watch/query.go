package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
)

type Query struct {
	Kinds      []string        // [Backups], [Restores] or both: all jobs of these kinds
	JobNames   []JobName       // single jobs
	Selector   labels.Selector // leaves out jobs of Kinds whose labels do not match; nil keeps all
	ExtraKinds []string        // other kinds to read, such as [Pods]
	// KindsByJob returns more kinds to read, depending on the jobs; nil for none.
	KindsByJob     func([]*job.Job) []string
	EndedVolumes   bool          // reads the volumes of ended jobs, too
	SkipVerdicts   bool          // does not read what only verdicts need
	SilenceTimeout time.Duration // how long the API server may be silent
	TotalTimeout   time.Duration // how long the whole read may take; 0 is ten times SilenceTimeout
	// Progress is called with the number of newly read objects, 0 at the start of a list, from several goroutines; may
	// be nil.
	Progress func(resource string, read int)
}

// IncludesKind reports whether the query asks for jobs of a resource.
func (q Query) IncludesKind(resource string) bool {
	return slices.Contains(q.Kinds, resource) ||
		slices.ContainsFunc(q.JobNames, func(n JobName) bool { return n.Resource == resource })
}

// JobName names one job; Resource is [Backups] or [Restores].
type JobName struct{ Resource, Name string }

// Read reads once what an answer needs: the requested jobs, and what the verdicts on those that have not ended depend
// on. Kinds that may not be read, or that the cluster does not have, are among the snapshot's sources; a job that
// does not exist is not among its jobs. It fails if the API server rejects the credentials, is silent for longer than
// Query.SilenceTimeout ([SilenceError]), is not done within Query.TotalTimeout ([SlowError]), or gives no usable
// answer.
func Read(ctx context.Context, o Options, q Query) (*Snapshot, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	line := newReadWatchdog(o.Clock, q.SilenceTimeout, cancel)
	defer line.timer.Stop()
	limit := cmp.Or(q.TotalTimeout, totalTimeoutFactor*q.SilenceTimeout)
	defer time.AfterFunc(limit, func() { cancel(errSlow) }).Stop()
	over := func(next http.RoundTripper) http.RoundTripper { return watchdogTransport{next, line} }
	c, err := newConnection(o.Config, o.Log, session.TransportOptions{Meter: line.meter, WrapTransport: over})
	if err != nil {
		return nil, err
	}
	r := &oneShotReader{
		Query:           q,
		connection:      c,
		watchdog:        line,
		clock:           o.Clock,
		objects:         map[string][]client.Object{},
		completeKinds:   map[string]bool{},
		unfinishedKinds: map[string]bool{},
		changedKinds:    map[string]bool{},
	}
	if err := r.readAll(ctx, o); err != nil {
		if errors.Is(context.Cause(ctx), errSlow) {
			return nil, &SlowError{After: limit, Unfinished: slices.Sorted(maps.Keys(r.unfinishedKinds))}
		}
		return nil, line.explainError(ctx, err)
	}
	return r.buildSnapshot(), nil
}

const totalTimeoutFactor = 10

var errSlow = errors.New("the reading took too long")

// SlowError means that a read took too long although the API server kept sending.
type SlowError struct {
	After      time.Duration
	Unfinished []string // the kinds that were not read in full, empty if Velero's namespace was not found yet
}

func (e *SlowError) Error() string {
	unread := strings.Join(e.Unfinished, ", ")
	if unread == "" {
		unread = "where Velero is installed"
	}
	return fmt.Sprintf("gave up after %s, in which the API server kept sending, but slowly; not read: %s",
		e.After, unread)
}

type oneShotReader struct {
	Query
	*connection
	watchdog *readWatchdog
	clock    func() time.Time

	installation installation

	mu              sync.Mutex
	objects         map[string][]client.Object
	sources         []Source
	completeKinds   map[string]bool // the kinds that were read in full
	unfinishedKinds map[string]bool // the kinds of requests that have not ended
	store           *Store          // of the last snapshot; nil before
	changedKinds    map[string]bool // the kinds whose objects are not in the store yet
	cachedSnapshot  *Snapshot       // the snapshot of all that is known, nil if more was read since
}

func (r *oneShotReader) readAll(ctx context.Context, o Options) error {
	if err := r.findNamespace(ctx, o); err != nil {
		return err
	}
	if err := r.readRequested(ctx); err != nil {
		return err
	}
	snap := r.buildSnapshot()
	if r.KindsByJob != nil {
		if err := runParallel(r.listTasks(ctx, r.KindsByJob(snap.Jobs), nil)); err != nil {
			return err
		}
		snap = r.buildSnapshot()
	}
	if r.EndedVolumes {
		if err := r.readVolumes(ctx, snap.Jobs); err != nil {
			return err
		}
		snap = r.buildSnapshot()
	}
	open := r.openJobs(snap)
	switch {
	case r.SkipVerdicts:
		return nil
	case len(open) == 0:
		return r.readEvidenceOfEnds(ctx)
	}
	if err := r.readEvidence(ctx, open); err != nil {
		return err
	}
	return r.readOtherJobs(ctx)
}

// findNamespace decides which namespace to read. A namespace that the user named is not searched for.
func (r *oneShotReader) findNamespace(ctx context.Context, o Options) error {
	if r.installation = o.namedInstallation(); r.installation.namespace != "" {
		return nil
	}
	return r.watchdog.retryRequest(ctx, func() (err error) {
		r.installation, err = findInstallation(ctx, r.client, o)
		return err
	})
}

func (r *oneShotReader) readRequested(ctx context.Context) error {
	kinds := r.ExtraKinds
	var tasks []func() error
	for _, kind := range r.Kinds {
		if r.Selector != nil {
			tasks = append(tasks, func() error { return r.listKind(ctx, kind, r.Selector.String(), nil) })
			continue
		}
		kinds = append(slices.Clip(kinds), kind)
		if r.EndedVolumes {
			kinds = append(kinds, volumeResources(kind)...)
		}
	}
	for _, n := range r.JobNames {
		if len(validation.IsDNS1123Subdomain(n.Name)) == 0 { // no job can have another name
			tasks = append(tasks, func() error { return r.fetchJob(ctx, n.Resource, n.Name) })
		}
	}
	return runParallel(append(tasks, r.listTasks(ctx, kinds, nil)...))
}

func volumeResources(jobs string) (resources []string) {
	for _, k := range volumeKinds(jobs) {
		resources = append(resources, k.resource)
	}
	return resources
}

// readVolumes reads the volumes of the jobs, of kinds that were not read in full.
func (r *oneShotReader) readVolumes(ctx context.Context, jobs []*job.Job) error {
	var tasks []func() error
	uids := map[string][]string{}
	for _, j := range jobs {
		uids[jobResourceOf(j.Kind)] = append(uids[jobResourceOf(j.Kind)], string(j.UID))
	}
	for _, k := range kinds {
		if k.toVolume == nil || r.isKindComplete(k.resource) {
			continue
		}
		for some := range slices.Chunk(uids[k.jobResource], maxSelectedUIDs) {
			tasks = append(
				tasks,
				func() error { return r.listKind(ctx, k.resource, k.uidLabel+" in ("+strings.Join(some, ",")+")", nil) },
			)
		}
	}
	return runParallel(tasks)
}

const maxSelectedUIDs = 50 // how many uids one label selector names: proxies limit the length of URLs

// readEvidence reads what verdicts on active jobs need: small kinds, the jobs' volumes, and the backups that restores
// read.
func (r *oneShotReader) readEvidence(ctx context.Context, active []*job.Job) error {
	kinds := []string{Pods, StorageLocations, Repositories, DeleteRequests, Schedules}
	backups := r.restoredBackups(active)
	if len(backups) > maxSelectedUIDs {
		kinds, backups = append(kinds, Backups), nil
	}
	tasks := r.listTasks(ctx, kinds, nil)
	if !r.EndedVolumes { // otherwise they are known
		tasks = append(tasks, func() error { return r.readVolumes(ctx, active) })
	}
	for _, name := range backups {
		tasks = append(tasks, func() error { return r.fetchJob(ctx, Backups, name) })
	}
	return runParallel(tasks)
}

// readEvidenceOfEnds reads what may say why jobs ended badly. Most ended jobs need nothing of it.
func (r *oneShotReader) readEvidenceOfEnds(ctx context.Context) error {
	var kinds []string
	var located []*job.Job
	for _, j := range r.buildSnapshot().Jobs {
		pods, locations := diagnosis.NeedsEvidenceOfEnd(j)
		if pods && !slices.Contains(kinds, Pods) {
			kinds = append(kinds, Pods)
		}
		if !locations {
			continue
		}
		located = append(located, j)
		if !slices.Contains(kinds, StorageLocations) {
			kinds = append(kinds, StorageLocations)
		}
	}
	backups := r.restoredBackups(located) // a restore's location is that of its backup
	if len(backups) > maxSelectedUIDs {
		kinds, backups = append(kinds, Backups), nil
	}
	tasks := r.listTasks(ctx, kinds, nil)
	for _, name := range backups {
		tasks = append(tasks, func() error { return r.fetchJob(ctx, Backups, name) })
	}
	return runParallel(tasks)
}

// restoredBackups names the backups of restores that have not been read.
func (r *oneShotReader) restoredBackups(jobs []*job.Job) (names []string) {
	if r.isKindComplete(Backups) {
		return nil
	}
	for _, j := range jobs {
		name := j.BackupName
		if j.Kind == job.Restore && !slices.Contains(names, name) && len(validation.IsDNS1123Subdomain(name)) == 0 &&
			!r.hasObject(Backups, name) {
			names = append(names, name)
		}
	}
	return names
}

// readOtherJobs reads the other jobs and their volumes where a verdict depends on them.
func (r *oneShotReader) readOtherJobs(ctx context.Context) error {
	jobs, volumes := r.needsOtherJobs()
	if jobs {
		if err := runParallel(r.listTasks(ctx, []string{Backups, Restores}, nil)); err != nil {
			return err
		}
		_, more := r.needsOtherJobs()
		volumes = volumes || more
	}
	if !volumes {
		return nil
	}
	// Of ended jobs, only volumes that have not ended are evidence.
	whole := map[types.UID]bool{}
	for _, j := range r.buildSnapshot().Jobs {
		whole[j.UID] = !j.IsTerminal() || r.EndedVolumes && r.isRequested(j)
	}
	keep := func(k *kind, o client.Object) bool {
		v := k.toVolume(o)
		return whole[volumeOwnerUID(o, k.uidLabel)] || !v.HasEnded()
	}
	if err := runParallel(
		r.listTasks(ctx, append(volumeResources(Backups), volumeResources(Restores)...), keep),
	); err != nil {
		return err
	}
	return r.readVolumeOwners(ctx)
}

// readVolumeOwners reads the jobs of the volumes that have not ended: volumes of a job that no longer exists move
// nothing.
func (r *oneShotReader) readVolumeOwners(ctx context.Context) error {
	wanted := map[string][]string{}
	for _, k := range kinds {
		if k.toVolume == nil || r.isKindComplete(k.jobResource) {
			continue
		}
		for _, name := range r.activeOwnerNames(k) {
			if !slices.Contains(wanted[k.jobResource], name) && !r.hasObject(k.jobResource, name) {
				wanted[k.jobResource] = append(wanted[k.jobResource], name)
			}
		}
	}
	var tasks []func() error
	for resource, names := range wanted {
		if len(names) > maxSelectedUIDs || slices.Contains(names, "") {
			tasks = append(tasks, func() error { return r.listKind(ctx, resource, "", nil) })
			continue
		}
		for _, name := range names {
			tasks = append(tasks, func() error { return r.fetchJob(ctx, resource, name) })
		}
	}
	return runParallel(tasks)
}

// activeOwnerNames returns the names of the jobs with volumes that have not ended. A name is empty if no owner
// reference has the job's full name.
func (r *oneShotReader) activeOwnerNames(k *kind) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.objects[k.resource] {
		v, owner := k.toVolume(wrapObject(o).Object), volumeOwnerUID(o, k.uidLabel)
		if v.HasEnded() || owner == "" {
			continue
		}
		name := ""
		for _, ref := range o.GetOwnerReferences() {
			if ref.UID == owner {
				name = ref.Name
			}
		}
		names = append(names, name)
	}
	return names
}

// openJobs returns the jobs that have not ended, and requested jobs that ended before their volumes did.
func (r *oneShotReader) openJobs(snap *Snapshot) []*job.Job {
	open := slices.Clip(snap.Active)
	for _, j := range snap.Jobs {
		if j.IsTerminal() && j.ActiveVolumeCount() > 0 && r.isRequested(j) {
			open = append(open, j)
		}
	}
	return open
}

func (r *oneShotReader) needsOtherJobs() (jobs, volumes bool) {
	snap := r.buildSnapshot()
	env := snap.BuildWorld(r.clock())
	for _, j := range r.openJobs(snap) {
		if !r.isRequested(j) {
			continue
		}
		moreJobs, moreVolumes := diagnosis.NeedsOtherEvidence(j, diagnosis.Judge(j, env))
		jobs, volumes = jobs || moreJobs, volumes || moreVolumes
	}
	return jobs, volumes
}

func (r *oneShotReader) isRequested(j *job.Job) bool {
	resource := jobResourceOf(j.Kind)
	return slices.Contains(r.Kinds, resource) && MatchesSelector(r.Selector, j.Object) ||
		slices.Contains(r.JobNames, JobName{resource, j.Name})
}

// MatchesSelector reports whether a job's labels match a selector. A nil selector matches every job.
func MatchesSelector(s labels.Selector, object job.Object) bool {
	return s == nil || object != nil && s.Matches(labels.Set(object.GetLabels()))
}

func runParallel(tasks []func() error) error {
	failed := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, task := range tasks {
		all.Go(func() { failed[i] = task() })
	}
	all.Wait()
	return cmp.Or(failed...)
}

// listTasks returns the tasks that read the kinds not read in full yet.
func (r *oneShotReader) listTasks(
	ctx context.Context,
	kinds []string,
	keep func(*kind, client.Object) bool,
) []func() error {
	var tasks []func() error
	for _, kind := range kinds {
		if !r.isKindComplete(kind) {
			tasks = append(tasks, func() error { return r.listKind(ctx, kind, "", keep) })
		}
	}
	return tasks
}

// listKind reads a kind, or the objects that a selector matches. keep reports whether to keep an object; nil keeps
// all.
func (r *oneShotReader) listKind(
	ctx context.Context,
	resource, selector string,
	keep func(*kind, client.Object) bool,
) error {
	k, _ := kindByResource(resource)
	k = k.withSelector(selector)
	found := &collectedList{report: func(read int) {
		if r.Progress != nil {
			r.Progress(resource, read)
		}
	}}
	if keep != nil {
		found.keep = func(o client.Object) bool { return keep(k, o) }
	}
	r.markUnfinished(resource)
	err := r.watchdog.retryRequest(ctx, func() error {
		found.restartList(0)
		_, err := newKindReader(k, r.rest, r.installation.namespace).readPages(ctx, 0, found)
		return err
	})
	return r.recordResult(resource, found.objects, selector == "", err)
}

// collectedList collects the objects of a list, each name once: a list that repeats itself would have no end.
type collectedList struct {
	keep    func(client.Object) bool // nil for all
	report  func(read int)
	names   map[string]bool
	objects []client.Object
}

func (l *collectedList) addObject(o *receivedObject) {
	if l.names[o.GetName()] {
		return
	}
	l.names[o.GetName()] = true
	if l.keep == nil || len(o.malformed) > 0 || l.keep(o.Object) {
		l.objects = append(l.objects, o)
	}
	l.report(1)
}

func (l *collectedList) removeObject(o *receivedObject) {
	delete(l.names, o.GetName())
	l.objects = slices.DeleteFunc(l.objects, func(held client.Object) bool { return held.GetName() == o.GetName() })
}

func (l *collectedList) restartList(int) {
	l.names, l.objects = map[string]bool{}, nil
	l.report(0)
}

func (*collectedList) finishList() {}

// fetchJob reads one job. A missing job is no error.
func (r *oneShotReader) fetchJob(ctx context.Context, resource, name string) error {
	k, _ := kindByResource(resource)
	from := newKindReader(k, r.rest, r.installation.namespace)
	var objects []client.Object
	r.markUnfinished(resource)
	err := r.watchdog.retryRequest(ctx, func() error {
		answer := from.rest.Get().AbsPath(from.path).Name(name).Do(ctx)
		if err := answer.Error(); err != nil {
			return err
		}
		raw, err := answer.Raw()
		if err != nil {
			return err
		}
		o, err := from.decodeObject(raw)
		if err == nil && o.GetName() != name {
			err = errors.New("the answer is another object, or none")
		}
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", resource, name, err)
		}
		objects = []client.Object{o}
		return nil
	})
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		err = nil
	}
	return r.recordResult(resource, objects, false, err)
}

// markUnfinished records that a kind is being read, until recordResult.
func (r *oneShotReader) markUnfinished(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unfinishedKinds[resource] = true
}

func (r *oneShotReader) recordResult(resource string, objects []client.Object, whole bool, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cachedSnapshot = nil
	if err == nil {
		delete(r.unfinishedKinds, resource)
	}
	source := Source{Resource: resource, State: SourceLive, Since: r.clusterTime(), ObjectCount: len(objects)}
	if err == nil && (whole || len(objects) > 0) {
		r.changedKinds[resource] = true
	}
	switch {
	case err == nil && whole: // includes what was read before
		r.objects[resource] = objects
	case err == nil:
		r.objects[resource] = append(r.objects[resource], objects...)
	case isCredentialsError(err):
		return err
	case apierrors.IsForbidden(err):
		source.State, source.Err = SourceForbidden, formatError(err)
	case apierrors.IsNotFound(err):
		source.State, source.Err = SourceMissing, missingCRDText
	default:
		return err
	}
	r.completeKinds[resource] = r.completeKinds[resource] || whole || err != nil
	known := slices.ContainsFunc(r.sources, func(s Source) bool { return s.Resource == resource })
	if (whole || err != nil) && !known { // a partial read does not tell what else there is
		r.sources = append(r.sources, source)
	}
	return nil
}

func (r *oneShotReader) isKindComplete(resource string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.completeKinds[resource]
}

func (r *oneShotReader) hasObject(resource, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.objects[resource], func(o client.Object) bool { return o.GetName() == name })
}

func (r *oneShotReader) clusterTime() time.Time { return r.clock().Add(r.watchdog.clockOffset()) }

// buildSnapshot returns a snapshot of what is known so far.
func (r *oneShotReader) buildSnapshot() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cachedSnapshot != nil {
		return r.cachedSnapshot
	}
	r.fillStore()
	n := r.store.Snapshot()
	n.ClockOffset = r.watchdog.clockOffset()
	r.installation.fillSnapshot(n)
	n.Health = Health{State: Live, Since: n.At}
	n.Sources = slices.Clone(r.sources)
	n.Server.Visible = slices.ContainsFunc(
		r.sources,
		func(s Source) bool { return s.Resource == Pods && s.State == SourceLive },
	)
	r.cachedSnapshot = n
	return n
}

// fillStore adds the changed kinds to the store. It makes the store anew if jobs or volumes changed in it, or if there
// are more volumes: volumes are added before their jobs, because later ones would count as changes of the job.
func (r *oneShotReader) fillStore() {
	outdated := r.store == nil
	for _, k := range kinds {
		isJob, isVolume := k.toObservedJob != nil, k.toVolume != nil
		known := r.store != nil && r.store.countObjects(k.resource) > 0
		if r.changedKinds[k.resource] && (known && isJob || isVolume && (known || len(r.objects[k.resource]) > 0)) {
			outdated = true
		}
	}
	if outdated {
		r.store = NewStore(r.clusterTime, 0)
	}
	for _, k := range slices.Backward(kinds) {
		objects := r.objects[k.resource]
		if len(objects) > 0 && outdated || r.changedKinds[k.resource] {
			r.store.Replace(k.resource, slices.Clone(objects))
		}
	}
	clear(r.changedKinds)
}
