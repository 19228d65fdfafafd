package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/watch"
)

// closerLookInterval is how often a job is looked at more closely that needs it.
const closerLookInterval = 5 * time.Second

// apiToken is that of the replayed cluster.
const apiToken = "recording"

// VeltuiJudge is veltui's own diagnosis, fed as the dashboard feeds it: a watch's
// store, the assessment, and closer looks through an API server that shows what
// the recording showed until then.
type VeltuiJudge struct {
	now time.Time
	// hidden is a resource that may not be read, empty for none.
	hidden    string
	store     *watch.Store
	estimates assess.Estimates
	lastLooks map[types.UID]time.Time
	objects   map[types.UID]*unstructured.Unstructured
	logs      map[string][]cluster.LogLine

	// api is the cluster as it is at the moment; nil if it has to be made anew.
	api    *cluster.Cluster
	served atomic.Pointer[http.Handler]
	server *httptest.Server
	engine *action.Engine
}

// NewVeltuiJudge makes a Product for somebody who may not read the hidden resource, unless
// that is empty; Close ends it.
func NewVeltuiJudge(hidden string) (*VeltuiJudge, error) {
	p := &VeltuiJudge{
		hidden:    hidden,
		lastLooks: map[types.UID]time.Time{},
		objects:   map[types.UID]*unstructured.Unstructured{},
		logs:      map[string][]cluster.LogLine{},
	}
	p.store = watch.NewStore(func() time.Time { return p.now }, 0)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*p.served.Load()).ServeHTTP(w, r)
	}))
	connection, err := session.New(session.Options{LoadConfig: func() (*rest.Config, error) {
		return &rest.Config{Host: p.server.URL, BearerToken: apiToken, QPS: -1}, nil
	}})
	if err != nil {
		p.Close()
		return nil, err
	}
	p.engine, err = action.New(
		action.Options{
			Session:   connection,
			Namespace: lab.Namespace,
			ReadOnly:  true,
			Now:       func() time.Time { return p.now },
		},
	)
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the replayed API server.
func (p *VeltuiJudge) Close() { p.server.Close() }

// ShowEntry takes an object in as the watch does, and a line as a kubelet keeps it.
func (p *VeltuiJudge) ShowEntry(e Entry) error {
	p.now, p.api = e.At, nil
	if e.Kind == LogEntry {
		at := e.At
		if line, ok := velero.ParseLogLine(e.Text); ok {
			at = line.At
		}
		p.logs[e.Pod] = append(p.logs[e.Pod], cluster.LogLine{Time: at, Text: e.Text})
		return nil
	}
	if e.Type == apiwatch.Deleted {
		delete(p.objects, e.Object.GetUID())
	} else {
		p.objects[e.Object.GetUID()] = e.Object
	}
	if resourceOf(e.Object.GroupVersionKind()) == p.hidden {
		return nil
	}
	o, err := decodeObject(e.Object)
	if err != nil || o == nil {
		return err
	}
	if e.Type == apiwatch.Deleted {
		p.store.Delete(o)
	} else {
		p.store.Upsert(o)
	}
	return nil
}

// decodeObject is an object as a reflector decodes it, nil for a kind that no watch has.
func decodeObject(o *unstructured.Unstructured) (client.Object, error) {
	made, err := testbed.VeleroScheme().New(schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind()))
	if err != nil {
		return nil, nil //nolint:nilerr // nobody watches it
	}
	if _, err := decode.Unstructured(o.DeepCopy(), made); err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	object, _ := made.(client.Object)
	return object, nil
}

// JudgeJobs judges all jobs that have not ended.
func (p *VeltuiJudge) JudgeJobs(now, heard time.Time, stale bool) ([]Verdict, error) {
	p.now = now
	snap := *p.store.Snapshot()
	snap.Health = watch.Health{State: watch.Live}
	if stale {
		snap.Health = watch.Health{State: watch.Stale, Since: heard}
	}
	snap.Sources = nil
	for _, resource := range recordedResources() {
		source := watch.Source{Resource: resource, State: watch.SourceLive}
		if name, _, _ := strings.Cut(resource, "."); name == p.hidden {
			source.State = watch.SourceForbidden
		}
		snap.Sources = append(snap.Sources, source)
	}
	assessed := p.estimates.AssessSnapshot(&snap, now)
	if !stale && now.Sub(heard) < 2*heartbeatInterval && p.takeCloserLooks(assessed) {
		assessed = p.estimates.AssessSnapshot(&snap, now)
	}
	var verdicts []Verdict
	for _, j := range assessed.Snapshot.Active {
		v := assessed.AssessJob(j).Verdict
		verdicts = append(
			verdicts,
			Verdict{
				Job:     j.Kind.Noun() + "/" + j.Name,
				State:   string(v.State()),
				Reason:  v.Reason.String(),
				Summary: v.Summary(),
			},
		)
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Job, b.Job) })
	return verdicts, nil
}

// takeCloserLooks looks at the jobs more closely that need it, and reports whether it did.
// A look that fails is none.
func (p *VeltuiJudge) takeCloserLooks(a *assess.Assessment) (looked bool) {
	for _, j := range a.Snapshot.Active {
		judged := a.AssessJob(j)
		if !judged.NeedsCloserLook || p.now.Sub(p.lastLooks[j.UID]) < closerLookInterval {
			continue
		}
		found, err := p.gatherEvidence(j)
		if err != nil {
			continue
		}
		p.lastLooks[j.UID] = p.now
		p.estimates.RecordCloserLook(j.UID, assess.CloserLook{Evidence: found, At: p.now})
		looked = true
	}
	return looked
}

// gatherEvidence reads what explain reads of one job.
func (p *VeltuiJudge) gatherEvidence(j *job.Job) (diagnosis.JobEvidence, error) {
	if err := p.rebuildAPI(); err != nil {
		return diagnosis.JobEvidence{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	e, err := p.engine.GatherEvidence(ctx, j.Kind, j.Name)
	if err != nil {
		return diagnosis.JobEvidence{}, err
	}
	return e.VerdictEvidence(), nil
}

// rebuildAPI makes the API server show what the recording has shown.
func (p *VeltuiJudge) rebuildAPI() error {
	if p.api != nil {
		return nil
	}
	api := cluster.New(func() time.Time { return p.now })
	for _, uid := range slices.Sorted(maps.Keys(p.objects)) {
		if err := api.PutObject(p.objects[uid]); err != nil {
			return err
		}
	}
	for pod, lines := range p.logs {
		namespace, name, _ := strings.Cut(pod, "/")
		api.AppendLog(namespace, name, lines...)
	}
	handler := hideResource(p.hidden, api.APIHandler(apiToken))
	p.served.Store(&handler)
	p.api = api
	return nil
}
