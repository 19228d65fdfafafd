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
	Kinds    []string        // those of [Backups] and [Restores] that are wanted whole
	Names    []JobName       // single jobs
	Selector labels.Selector // leaves out jobs of Kinds whose labels do not match; nil for none
	Also     []string        // other kinds that are wanted, such as [Pods]
	// Then names more kinds that are wanted, by the jobs; nil for none.
	Then      func([]*job.Job) []string
	Volumes   bool          // asks for the volumes of jobs that have ended, too
	NoVerdict bool          // leaves out what only verdicts need
	Silence   time.Duration // how long nothing may come from the API server
	Limit     time.Duration // how long the reading may take in all; 0 is ten times Silence
	// Progress gets how many more objects were read, 0 at a list's beginning, from several goroutines; may be nil.
	Progress func(resource string, read int)
}

// Asks reports whether jobs of a resource are asked for.
func (q Query) Asks(resource string) bool {
	return slices.Contains(q.Kinds, resource) ||
		slices.ContainsFunc(q.Names, func(n JobName) bool { return n.Resource == resource })
}

// JobName names one job; Resource is [Backups] or [Restores].
type JobName struct{ Resource, Name string }

// Read reads once what an answer needs: the wanted jobs, and what the verdicts on those that have not ended depend
// on. Kinds that may not be read, or that the cluster does not have, are among the snapshot's sources; a name that
// does not exist is not among its jobs. It is an error if the API server rejects the credentials, says nothing for
// longer than Query.Silence ([SilenceError]), is not done within Query.Limit ([SlowError]), or gives no usable answer.
func Read(ctx context.Context, o Options, q Query) (*Snapshot, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	line := newLine(o.Clock, q.Silence, cancel)
	defer line.timer.Stop()
	limit := cmp.Or(q.Limit, limitOfSilences*q.Silence)
	defer time.AfterFunc(limit, func() { cancel(errSlow) }).Stop()
	over := func(next http.RoundTripper) http.RoundTripper { return listening{next, line} }
	c, err := open(o.Config, o.Log, session.TransportOptions{Meter: line.meter, Over: over})
	if err != nil {
		return nil, err
	}
	r := &onceReader{
		Query:      q,
		connection: c,
		line:       line,
		clock:      o.Clock,
		held:       map[string][]client.Object{},
		whole:      map[string]bool{},
		unread:     map[string]bool{},
	}
	if err := r.all(ctx, o); err != nil {
		if errors.Is(context.Cause(ctx), errSlow) {
			return nil, &SlowError{For: limit, Unread: slices.Sorted(maps.Keys(r.unread))}
		}
		return nil, line.explain(ctx, err)
	}
	return r.snapshot(), nil
}

const limitOfSilences = 10

var errSlow = errors.New("the reading took too long")

// SlowError is that a reading took too long although the API server kept sending.
type SlowError struct {
	For    time.Duration
	Unread []string // what was not read to its end, empty while Velero's namespace was looked for
}

func (e *SlowError) Error() string {
	unread := strings.Join(e.Unread, ", ")
	if unread == "" {
		unread = "where Velero is installed"
	}
	return fmt.Sprintf("gave up after %s, in which the API server kept sending, but slowly; not read: %s",
		e.For, unread)
}

type onceReader struct {
	Query
	*connection
	line  *line
	clock func() time.Time

	installation installation

	mu      sync.Mutex
	held    map[string][]client.Object
	sources []Source
	whole   map[string]bool // the kinds that were read as a whole
	unread  map[string]bool // the kinds of requests that have not ended
	built   *Snapshot       // of all that is known, nil if more has come since
}

func (r *onceReader) all(ctx context.Context, o Options) error {
	if err := r.find(ctx, o); err != nil {
		return err
	}
	if err := r.asked(ctx); err != nil {
		return err
	}
	snap := r.snapshot()
	if r.Then != nil {
		if err := together(r.lists(ctx, r.Then(snap.Jobs), nil)); err != nil {
			return err
		}
		snap = r.snapshot()
	}
	if r.Volumes {
		if err := r.volumesOf(ctx, snap.Jobs); err != nil {
			return err
		}
	}
	if r.NoVerdict || len(snap.Active) == 0 {
		return nil
	}
	if err := r.evidence(ctx, snap.Active); err != nil {
		return err
	}
	return r.others(ctx)
}

// find decides which namespace is read. One that was named is not looked for.
func (r *onceReader) find(ctx context.Context, o Options) error {
	if r.installation = o.namedInstallation(); r.installation.namespace != "" {
		return nil
	}
	return r.line.try(ctx, func() (err error) {
		r.installation, err = findInstallation(ctx, r.client, o)
		return err
	})
}

func (r *onceReader) asked(ctx context.Context) error {
	kinds := r.Also
	var tasks []func() error
	for _, kind := range r.Kinds {
		if r.Selector != nil {
			tasks = append(tasks, func() error { return r.list(ctx, kind, r.Selector.String(), nil) })
			continue
		}
		kinds = append(slices.Clip(kinds), kind)
		if r.Volumes {
			kinds = append(kinds, volumeResources(kind)...)
		}
	}
	for _, n := range r.Names {
		if len(validation.IsDNS1123Subdomain(n.Name)) == 0 { // no other name can be there
			tasks = append(tasks, func() error { return r.get(ctx, n.Resource, n.Name) })
		}
	}
	return together(append(tasks, r.lists(ctx, kinds, nil)...))
}

func volumeResources(jobs string) (resources []string) {
	for _, k := range volumeKinds(jobs) {
		resources = append(resources, k.resource)
	}
	return resources
}

// volumesOf reads the volumes of jobs, of kinds that are not known as a whole.
func (r *onceReader) volumesOf(ctx context.Context, jobs []*job.Job) error {
	var tasks []func() error
	uids := map[string][]string{}
	for _, j := range jobs {
		uids[resourceOf(j.Kind)] = append(uids[resourceOf(j.Kind)], string(j.UID))
	}
	for _, k := range kinds {
		if k.volume == nil || r.isWhole(k.resource) {
			continue
		}
		for some := range slices.Chunk(uids[k.jobs], maxSelected) {
			tasks = append(
				tasks,
				func() error { return r.list(ctx, k.resource, k.uidLabel+" in ("+strings.Join(some, ",")+")", nil) },
			)
		}
	}
	return together(tasks)
}

const maxSelected = 50 // how many uids one label selector names: proxies limit the length of addresses

// evidence reads what verdicts on active jobs need: small kinds, their volumes, and the backups that restores read.
func (r *onceReader) evidence(ctx context.Context, active []*job.Job) error {
	kinds := []string{Pods, Locations, Repositories, Deletions, Schedules}
	backups := r.restored(active)
	if len(backups) > maxSelected {
		kinds, backups = append(kinds, Backups), nil
	}
	tasks := r.lists(ctx, kinds, nil)
	if !r.Volumes { // else they are known
		tasks = append(tasks, func() error { return r.volumesOf(ctx, active) })
	}
	for _, name := range backups {
		tasks = append(tasks, func() error { return r.get(ctx, Backups, name) })
	}
	return together(tasks)
}

func (r *onceReader) restored(active []*job.Job) (names []string) {
	if r.isWhole(Backups) {
		return nil
	}
	for _, j := range active {
		name := j.BackupName
		if j.Kind == job.Restore && !slices.Contains(names, name) && len(validation.IsDNS1123Subdomain(name)) == 0 &&
			!r.holds(Backups, name) {
			names = append(names, name)
		}
	}
	return names
}

// others reads the other jobs and their volumes where a verdict depends on them.
func (r *onceReader) others(ctx context.Context) error {
	jobs, volumes := r.needsOthers()
	if jobs {
		if err := together(r.lists(ctx, []string{Backups, Restores}, nil)); err != nil {
			return err
		}
		_, more := r.needsOthers()
		volumes = volumes || more
	}
	if !volumes {
		return nil
	}
	// Of jobs that have ended only volumes that have not are evidence.
	whole := map[types.UID]bool{}
	for _, j := range r.snapshot().Jobs {
		whole[j.UID] = !j.Terminal() || r.Volumes && r.wants(j)
	}
	keep := func(k *kind, o client.Object) bool {
		v := k.volume(o)
		return whole[ownerOf(o, k.uidLabel)] || !v.Ended()
	}
	if err := together(r.lists(ctx, append(volumeResources(Backups), volumeResources(Restores)...), keep)); err != nil {
		return err
	}
	return r.owners(ctx)
}

// owners reads the jobs of the volumes that have not ended: those of a job that no longer exists move nothing.
func (r *onceReader) owners(ctx context.Context) error {
	wanted := map[string][]string{}
	for _, k := range kinds {
		if k.volume == nil || r.isWhole(k.jobs) {
			continue
		}
		for _, name := range r.openOwners(k) {
			if !slices.Contains(wanted[k.jobs], name) && !r.holds(k.jobs, name) {
				wanted[k.jobs] = append(wanted[k.jobs], name)
			}
		}
	}
	var tasks []func() error
	for resource, names := range wanted {
		if len(names) > maxSelected || slices.Contains(names, "") {
			tasks = append(tasks, func() error { return r.list(ctx, resource, "", nil) })
			continue
		}
		for _, name := range names {
			tasks = append(tasks, func() error { return r.get(ctx, resource, name) })
		}
	}
	return together(tasks)
}

// openOwners returns the names of the jobs whose volumes have not ended, empty for one that is not named in full.
func (r *onceReader) openOwners(k *kind) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.held[k.resource] {
		v, owner := k.volume(wrap(o).Object), ownerOf(o, k.uidLabel)
		if v.Ended() || owner == "" {
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

func (r *onceReader) needsOthers() (jobs, volumes bool) {
	snap := r.snapshot()
	env := snap.Environment(r.clock())
	for _, j := range snap.Active {
		if !r.wants(j) {
			continue
		}
		moreJobs, moreVolumes := diagnosis.NeedsOthers(j, diagnosis.Judge(j, env))
		jobs, volumes = jobs || moreJobs, volumes || moreVolumes
	}
	return jobs, volumes
}

func (r *onceReader) wants(j *job.Job) bool {
	resource := resourceOf(j.Kind)
	return slices.Contains(r.Kinds, resource) && Selects(r.Selector, j.Object) ||
		slices.Contains(r.Names, JobName{resource, j.Name})
}

// Selects reports whether a job's labels match a selector, which nil does not ask for.
func Selects(s labels.Selector, object job.Object) bool {
	return s == nil || object != nil && s.Matches(labels.Set(object.GetLabels()))
}

func together(tasks []func() error) error {
	failed := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, task := range tasks {
		all.Go(func() { failed[i] = task() })
	}
	all.Wait()
	return cmp.Or(failed...)
}

// lists returns the tasks of reading the kinds that are not known yet.
func (r *onceReader) lists(ctx context.Context, kinds []string, keep func(*kind, client.Object) bool) []func() error {
	var tasks []func() error
	for _, kind := range kinds {
		if !r.isWhole(kind) {
			tasks = append(tasks, func() error { return r.list(ctx, kind, "", keep) })
		}
	}
	return tasks
}

// list reads a kind, or what a selector names of it. keep says what is held, nil for all.
func (r *onceReader) list(ctx context.Context, resource, selector string, keep func(*kind, client.Object) bool) error {
	k, _ := kindNamed(resource)
	k = k.selecting(selector)
	found := &collected{report: func(read int) {
		if r.Progress != nil {
			r.Progress(resource, read)
		}
	}}
	if keep != nil {
		found.keep = func(o client.Object) bool { return keep(k, o) }
	}
	r.begin(resource)
	err := r.line.try(ctx, func() error {
		found.again(0)
		_, err := newReader(k, r.rest, r.installation.namespace).pages(ctx, 0, found)
		return err
	})
	return r.note(resource, found.objects, selector == "", err)
}

// collected is a list that is held as it was read, each name once: a list that repeats itself would have no end.
type collected struct {
	keep    func(client.Object) bool // nil for all
	report  func(read int)
	names   map[string]bool
	objects []client.Object
}

func (l *collected) add(o *received) {
	if l.names[o.GetName()] {
		return
	}
	l.names[o.GetName()] = true
	if l.keep == nil || len(o.malformed) > 0 || l.keep(o.Object) {
		l.objects = append(l.objects, o)
	}
	l.report(1)
}

func (l *collected) remove(o *received) {
	delete(l.names, o.GetName())
	l.objects = slices.DeleteFunc(l.objects, func(held client.Object) bool { return held.GetName() == o.GetName() })
}

func (l *collected) again(int) {
	l.names, l.objects = map[string]bool{}, nil
	l.report(0)
}

func (*collected) done() {}

// get reads one job. One that is not there is no error.
func (r *onceReader) get(ctx context.Context, resource, name string) error {
	k, _ := kindNamed(resource)
	from := newReader(k, r.rest, r.installation.namespace)
	var objects []client.Object
	r.begin(resource)
	err := r.line.try(ctx, func() error {
		answer := from.rest.Get().AbsPath(from.path).Name(name).Do(ctx)
		if err := answer.Error(); err != nil {
			return err
		}
		raw, err := answer.Raw()
		if err != nil {
			return err
		}
		o, err := from.object(raw)
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
	return r.note(resource, objects, false, err)
}

// begin notes that a kind is being read, until note.
func (r *onceReader) begin(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread[resource] = true
}

func (r *onceReader) note(resource string, objects []client.Object, whole bool, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.built = nil
	if err == nil {
		delete(r.unread, resource)
	}
	source := Source{Resource: resource, State: SourceLive, Since: r.now(), Objects: len(objects)}
	switch {
	case err == nil && whole: // includes what was read before
		r.held[resource] = objects
	case err == nil:
		r.held[resource] = append(r.held[resource], objects...)
	case rejected(err):
		return err
	case apierrors.IsForbidden(err):
		source.State, source.Err = SourceForbidden, words(err)
	case apierrors.IsNotFound(err):
		source.State, source.Err = SourceMissing, noKind
	default:
		return err
	}
	r.whole[resource] = r.whole[resource] || whole || err != nil
	known := slices.ContainsFunc(r.sources, func(s Source) bool { return s.Resource == resource })
	if (whole || err != nil) && !known { // a part says nothing of what else there is
		r.sources = append(r.sources, source)
	}
	return nil
}

func (r *onceReader) isWhole(resource string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole[resource]
}

func (r *onceReader) holds(resource, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.held[resource], func(o client.Object) bool { return o.GetName() == name })
}

func (r *onceReader) now() time.Time { return r.clock().Add(r.line.offset()) }

// snapshot is made of what is known so far. Volumes come before their jobs: later ones count as changes of the job.
func (r *onceReader) snapshot() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.built != nil {
		return r.built
	}
	store := NewStore(r.now, 0)
	for _, k := range slices.Backward(kinds) {
		if objects := r.held[k.resource]; len(objects) > 0 {
			store.Replace(k.resource, slices.Clone(objects))
		}
	}
	n := store.Snapshot()
	n.ClockOffset = r.line.offset()
	r.installation.describe(n)
	n.Health = Health{State: Live, Since: n.At}
	n.Sources = slices.Clone(r.sources)
	n.Server.Visible = slices.ContainsFunc(
		r.sources,
		func(s Source) bool { return s.Resource == Pods && s.State == SourceLive },
	)
	r.built = n
	return n
}
