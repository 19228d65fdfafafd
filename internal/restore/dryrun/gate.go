package dryrun

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
)

// maxHeldBytes is how many bytes of bodies may wait for the answer to the first object.
const maxHeldBytes = 8 << 20

// gate lets the objects of one API server through once a dry run has been proven there. The API server itself has one
// gate for everything that it serves, CRDs included; each resource of an aggregated API has its own gate.
type gate struct {
	name       string
	isOpen     bool      // a dry run is proven
	shutReason string    // why no object may be sent, empty if objects may be
	heldJobs   []itemJob // jobs that wait until the gate is open
	heldBytes  int       // of the bodies of heldJobs
}

// itemJob is an item with its body.
type itemJob struct {
	*item
	body []byte
}

// dispatcher hands bodies to the workers. Until a gate is open, the dispatcher sends the gate's objects itself, one
// at a time: two objects are never under way to a server where no dry run is proven.
type dispatcher struct {
	*runner
	ctx            context.Context
	jobs           chan itemJob
	runningWorkers sync.WaitGroup
	gates          map[string]*gate
}

func (r *runner) startDispatcher(ctx context.Context) *dispatcher {
	d := &dispatcher{runner: r, ctx: ctx, jobs: make(chan itemJob), gates: map[string]*gate{}}
	for range workerCount {
		d.runningWorkers.Go(func() {
			for j := range d.jobs {
				d.processJob(j)
			}
		})
	}
	return d
}

// processJob sends a body, and reports the progress.
func (d *dispatcher) processJob(j itemJob) {
	d.sendBody(d.ctx, j.item, j.body)
	if sent := int(d.progress.Add(1)); d.Progress != nil {
		d.Progress(sent, d.total)
	}
}

// gateOf returns the gate of an item.
func (d *dispatcher) gateOf(i *item) *gate {
	name := i.resource
	if d.groupServers.isLocal(groupOf(i.resource)) {
		name = localGate
	}
	if d.gates[name] == nil {
		d.gates[name] = &gate{name: name}
	}
	return d.gates[name]
}

const localGate = "the API server"

// openLocalGate sends one made-up ConfigMap before any object that the API server itself serves.
func (d *dispatcher) openLocalGate() {
	needed := false
	for _, i := range d.items {
		needed = needed || i.planned && d.groupServers.isLocal(groupOf(i.resource))
	}
	if !needed || d.isHalted() {
		return
	}
	g := &gate{name: localGate}
	d.gates[localGate] = g
	err := d.sendProbe(d.ctx)
	switch {
	case apierrors.IsUnauthorized(err):
		d.stop(err)
	case d.isHalted():
	case d.firstItem.unprovenReason != "":
		g.shutReason = "the first dry run proves nothing: " + d.firstItem.unprovenReason
	case d.firstItem.proven:
		d.confirmGate(g, d.firstItem)
	}
}

// addBody adds a body of the backup. The caller may reuse the body.
func (d *dispatcher) addBody(i *item, body []byte) {
	g := d.gateOf(i)
	j := itemJob{i, bytes.Clone(body)}
	switch {
	case d.isHalted():
	case g.shutReason != "":
		i.setVerdict(cannotTell, "it was not sent: "+g.shutReason)
	case g.isOpen:
		d.enqueueJob(j)
	default:
		g.heldJobs = append(g.heldJobs, j)
		g.heldBytes += len(body)
		for !g.isOpen && g.shutReason == "" && len(g.heldJobs) > 0 && !d.isHalted() &&
			(g.heldBytes > maxHeldBytes || g.rankHarm(j.item) <= maxHarmlessRank) {
			d.probeGate(g)
		}
	}
}

// finishJobs sends the jobs that still wait, and ends the workers.
func (d *dispatcher) finishJobs() {
	for _, name := range slices.Sorted(maps.Keys(d.gates)) {
		for g := d.gates[name]; len(g.heldJobs) > 0 && !d.isHalted(); {
			d.probeGate(g)
		}
	}
	close(d.jobs)
	d.runningWorkers.Wait()
}

func (d *dispatcher) enqueueJob(j itemJob) {
	select {
	case d.jobs <- j:
	case <-d.ended.Done():
	}
}

// probeGate sends only the least harmful of the waiting objects, and lets its answer decide about the others.
func (d *dispatcher) probeGate(g *gate) {
	least := 0
	for n, waiting := range g.heldJobs {
		if g.rankHarm(waiting.item) < g.rankHarm(g.heldJobs[least].item) {
			least = n
		}
	}
	j := g.heldJobs[least]
	g.heldJobs = slices.Delete(g.heldJobs, least, least+1)
	g.heldBytes -= len(j.body)
	d.processJob(j)
	switch {
	case d.isHalted():
		return
	case j.unprovenReason != "":
		g.shutReason = fmt.Sprintf(
			"the answer to the first of them, %s, proves nothing: %s",
			human.Namespaced(j.namespace, j.name),
			j.unprovenReason,
		)
	case !j.proven:
		return // the object was rejected, or nothing was sent
	default:
		d.confirmGate(g, j.item)
	}
	if d.isHalted() {
		return
	}
	for _, waiting := range g.heldJobs {
		if g.isOpen {
			d.enqueueJob(waiting)
		} else if g.shutReason != "" {
			waiting.setVerdict(cannotTell, "it was not sent: "+g.shutReason)
		}
	}
	g.heldJobs, g.heldBytes = nil, 0
}

// confirmGate reads back the first accepted object of a gate: the answer may have been changed on its way, and how an
// aggregated API server stores objects is its own affair.
func (d *dispatcher) confirmGate(g *gate, i *item) {
	e, _ := d.readBack(d.ctx, i)
	switch {
	case e.proof == notStored:
		g.isOpen = true
	case e.proof == carriedOut:
		d.reportStored(i, e, nil)
	default:
		i.unprovenReason = e.reason
		g.shutReason = fmt.Sprintf(
			"whether the first of them, %s, was stored is unknown: %s",
			human.Namespaced(i.namespace, i.name),
			e.reason,
		)
	}
}

// maxHarmlessRank is the harm up to which an object is sent first, without waiting for a less harmful one.
const maxHarmlessRank = 2

// harmByResource ranks resources by the harm of an object that a dry run stored, the least harmful first; resources
// that are not listed are in between.
var harmByResource = map[string]int{
	live.ConfigMaps:                     0,
	"podtemplates":                      1,
	"controllerrevisions.apps":          1,
	priorityClasses:                     2,
	runtimeClasses:                      2,
	serviceAccounts:                     2,
	"services":                          6,
	"namespaces":                        6,
	"persistentvolumeclaims":            6,
	"persistentvolumes":                 6,
	"networkpolicies.networking.k8s.io": 6,
	roleBindings:                        7,
	clusterRoleBindings:                 7,
	live.ValidatingWebhooks:             7,
	live.MutatingWebhooks:               7,
	"customresourcedefinitions.apiextensions.k8s.io": 7,
	"replicationcontrollers":                         8,
	"replicasets.apps":                               8,
	"deployments.apps":                               8,
	"statefulsets.apps":                              8,
	"daemonsets.apps":                                8,
	"jobs.batch":                                     8,
	"cronjobs.batch":                                 8,
	"pods":                                           9,
	secrets:                                          10,
}

const (
	unlistedHarm = 4
	patchHarm    = 20 // a patch of an existing object is harder to undo than a new object
)

// rankHarm returns how harmful it would be to store an object. Within one resource of an aggregated API, only patches
// count.
func (g *gate) rankHarm(i *item) int {
	harm := 0
	if g.name == localGate {
		var named bool
		if harm, named = harmByResource[i.resource]; !named {
			harm = unlistedHarm
		}
	}
	if i.exists {
		harm += patchHarm
	}
	return harm
}

func groupOf(resource string) string {
	_, group, _ := strings.Cut(resource, ".")
	return group
}

// groupServers tells which API groups the API server serves itself, CRDs included.
type groupServers struct {
	err        error           // why the APIServices could not be read
	local      map[string]bool // groups without a Service
	aggregated map[string]bool // groups with a version that a Service serves
}

// isLocal reports whether the API server serves a group itself; false if that is unknown.
func (a *groupServers) isLocal(group string) bool {
	return !a.aggregated[group] && (a.local[group] || collector.IsBuiltIn(group))
}

// readGroupServers reads which groups are aggregated. Where the user may not read that, only Kubernetes' own groups
// count as served by the API server.
func (s *Sender) readGroupServers(ctx context.Context) *groupServers {
	a := &groupServers{local: map[string]bool{}, aggregated: map[string]bool{}}
	var list struct {
		Items []struct {
			Spec struct {
				Group   string
				Service *struct{ Name string }
			}
		}
	}
	if a.err = s.listObjects(ctx, apiServices, &list); a.err != nil {
		return a
	}
	for _, service := range list.Items {
		groups := a.local
		if service.Spec.Service != nil {
			groups = a.aggregated
		}
		groups[service.Spec.Group] = true
	}
	return a
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// probeNamespace returns an existing namespace for the made-up ConfigMap: a namespace of the restore, else the
// stand-in, else default.
func (r *runner) probeNamespace() string {
	var spaces []string
	for _, i := range r.items {
		if i.planned && i.namespace != "" && !r.isNewNamespace(i.namespace) {
			spaces = append(spaces, i.namespace)
		}
	}
	if len(spaces) > 0 {
		return slices.Min(spaces)
	}
	return cmp.Or(r.StandInNamespace, "default")
}

// sendProbe sends an empty ConfigMap with a name that nobody else uses. Its error is the API server's.
func (r *runner) sendProbe(ctx context.Context) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(r.probeNamespace())
	o.SetName(r.markLabel)
	o.SetAnnotations(
		map[string]string{
			"veltui.io/dry-run": "veltui sent this ConfigMap as a dry run. If it exists, something dropped dryRun=All: " +
				"delete it.",
		},
	)
	r.firstItem = &item{itemKey: itemKey{live.ConfigMaps, o.GetNamespace(), o.GetName()}, wasSent: true}
	r.firstItem.lastRequest = sentRequest{
		resource:  schema.GroupVersionResource{Version: "v1", Resource: live.ConfigMaps},
		namespace: o.GetNamespace(),
		name:      o.GetName(),
		marked:    true,
	}
	data, err := r.createObject(ctx, r.firstItem.lastRequest.resource, o)
	e := proveCreate(o, data, err)
	r.serverStart = e.object.Metadata.CreationTimestamp.Time
	r.judgeAnswer(r.firstItem, r.corroborateAnswer(ctx, r.firstItem, e, err), nil)
	return err
}
