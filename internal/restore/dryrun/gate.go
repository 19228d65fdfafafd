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

// maxHeld is how many bytes of bodies wait for the answer to the first object.
const maxHeld = 8 << 20

// gate lets the objects of one API server through once a dry run has been proven there. The API server itself has one
// gate for all that it serves, CRDs included; each resource of an aggregated API has its own.
type gate struct {
	name string
	open bool   // a dry run is proven
	shut string // why no object may be sent, empty if some may
	held []job  // until the gate is open
	size int    // of held, in bytes
}

// job is an item with its body.
type job struct {
	*item
	body []byte
}

// dispatcher hands bodies to the workers. Until a gate is open it sends its objects itself, one after another: no two
// objects are on the way to where no dry run is proven.
type dispatcher struct {
	*run
	ctx     context.Context
	jobs    chan job
	working sync.WaitGroup
	gates   map[string]*gate
}

func (r *run) dispatch(ctx context.Context) *dispatcher {
	d := &dispatcher{run: r, ctx: ctx, jobs: make(chan job), gates: map[string]*gate{}}
	for range workers {
		d.working.Go(func() {
			for j := range d.jobs {
				d.process(j)
			}
		})
	}
	return d
}

// process sends a body, and reports the progress.
func (d *dispatcher) process(j job) {
	d.sendBody(d.ctx, j.item, j.body)
	if sent := int(d.progress.Add(1)); d.Progress != nil {
		d.Progress(sent, d.total)
	}
}

// gateOf returns the gate of an item.
func (d *dispatcher) gateOf(i *item) *gate {
	name := i.resource
	if d.servers.isLocal(groupOf(i.resource)) {
		name = localGate
	}
	if d.gates[name] == nil {
		d.gates[name] = &gate{name: name}
	}
	return d.gates[name]
}

const localGate = "the API server"

// openLocal sends one made-up ConfigMap before any object that the API server itself serves.
func (d *dispatcher) openLocal() {
	needed := false
	for _, i := range d.items {
		needed = needed || i.planned && d.servers.isLocal(groupOf(i.resource))
	}
	if !needed || d.halted() {
		return
	}
	g := &gate{name: localGate}
	d.gates[localGate] = g
	err := d.sendFirst(d.ctx)
	switch {
	case apierrors.IsUnauthorized(err):
		d.stop(err)
	case d.halted():
	case d.first.unproven != "":
		g.shut = "the first dry run proves nothing: " + d.first.unproven
	case d.first.proven:
		d.confirm(g, d.first)
	}
}

// add takes a body of the backup, which the caller may use again.
func (d *dispatcher) add(i *item, body []byte) {
	g := d.gateOf(i)
	j := job{i, bytes.Clone(body)}
	switch {
	case d.halted():
	case g.shut != "":
		i.decide(cannotTell, "it was not sent: "+g.shut)
	case g.open:
		d.hand(j)
	default:
		g.held = append(g.held, j)
		g.size += len(body)
		for !g.open && g.shut == "" && len(g.held) > 0 && !d.halted() && (g.size > maxHeld || g.harm(j.item) <= harmless) {
			d.probe(g)
		}
	}
}

// finish sends what still waits, and ends the workers.
func (d *dispatcher) finish() {
	for _, name := range slices.Sorted(maps.Keys(d.gates)) {
		for g := d.gates[name]; len(g.held) > 0 && !d.halted(); {
			d.probe(g)
		}
	}
	close(d.jobs)
	d.working.Wait()
}

func (d *dispatcher) hand(j job) {
	select {
	case d.jobs <- j:
	case <-d.ended.Done():
	}
}

// probe sends the least harmful object that waits, alone, and lets its answer decide about the others.
func (d *dispatcher) probe(g *gate) {
	least := 0
	for n, waiting := range g.held {
		if g.harm(waiting.item) < g.harm(g.held[least].item) {
			least = n
		}
	}
	j := g.held[least]
	g.held = slices.Delete(g.held, least, least+1)
	g.size -= len(j.body)
	d.process(j)
	switch {
	case d.halted():
		return
	case j.unproven != "":
		g.shut = fmt.Sprintf(
			"the answer to the first of them, %s, proves nothing: %s",
			human.Namespaced(j.namespace, j.name),
			j.unproven,
		)
	case !j.proven:
		return // it was rejected, or nothing was sent of it
	default:
		d.confirm(g, j.item)
	}
	if d.halted() {
		return
	}
	for _, waiting := range g.held {
		if g.open {
			d.hand(waiting)
		} else if g.shut != "" {
			waiting.decide(cannotTell, "it was not sent: "+g.shut)
		}
	}
	g.held, g.size = nil, 0
}

// confirm reads the first accepted object of a gate once more: the answer alone may be changed on its way, and how an
// aggregated API server stores is its own affair.
func (d *dispatcher) confirm(g *gate, i *item) {
	e, _ := d.readBack(d.ctx, i)
	switch {
	case e.proof == notStored:
		g.open = true
	case e.proof == carriedOut:
		d.report(i, e, nil)
	default:
		i.unproven = e.why
		g.shut = fmt.Sprintf(
			"whether the first of them, %s, was stored is unknown: %s",
			human.Namespaced(i.namespace, i.name),
			e.why,
		)
	}
}

// harmless is up to which harm an object is sent first, without waiting for a less harmful one.
const harmless = 2

// harms orders resources by what an object would do if a dry run stored it, the least harmful first; what is not named
// is in between.
var harms = map[string]int{
	live.ConfigMaps:                     0,
	"podtemplates":                      1,
	"controllerrevisions.apps":          1,
	priorities:                          2,
	runtimes:                            2,
	accounts:                            2,
	"services":                          6,
	"namespaces":                        6,
	"persistentvolumeclaims":            6,
	"persistentvolumes":                 6,
	"networkpolicies.networking.k8s.io": 6,
	bindings:                            7,
	clusterBindings:                     7,
	live.Validating:                     7,
	live.Mutating:                       7,
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
	unnamedHarm = 4
	patchHarm   = 20 // a patch of what exists is harder to take back than a new object
)

// harm returns how harmful it would be to store an object. Within one resource of an aggregated API only patches count.
func (g *gate) harm(i *item) int {
	harm := 0
	if g.name == localGate {
		var named bool
		if harm, named = harms[i.resource]; !named {
			harm = unnamedHarm
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

// apiServers says which API groups the API server serves itself, CRDs included.
type apiServers struct {
	err        error           // why the APIServices could not be read
	local      map[string]bool // groups without a Service
	aggregated map[string]bool // groups of which a version is served by a Service
}

// isLocal reports whether the API server serves a group itself. What is not known, it does not.
func (a *apiServers) isLocal(group string) bool {
	return !a.aggregated[group] && (a.local[group] || collector.IsBuiltIn(group))
}

// readAPIServers reads which groups are aggregated. Where that may not be read, only Kubernetes' own groups count as
// the API server's.
func (s *Sender) readAPIServers(ctx context.Context) *apiServers {
	a := &apiServers{local: map[string]bool{}, aggregated: map[string]bool{}}
	var list struct {
		Items []struct {
			Spec struct {
				Group   string
				Service *struct{ Name string }
			}
		}
	}
	if a.err = s.list(ctx, apiServices, &list); a.err != nil {
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

// probeSpace returns an existing namespace for the made-up ConfigMap: one of the restore, else the stand-in, else
// default.
func (r *run) probeSpace() string {
	var spaces []string
	for _, i := range r.items {
		if i.planned && i.namespace != "" && !r.isNew(i.namespace) {
			spaces = append(spaces, i.namespace)
		}
	}
	if len(spaces) > 0 {
		return slices.Min(spaces)
	}
	return cmp.Or(r.StandIn, "default")
}

// sendFirst sends an empty ConfigMap of a name that nobody else uses. Its error is the API server's.
func (r *run) sendFirst(ctx context.Context) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(r.probeSpace())
	o.SetName(r.mark)
	o.SetAnnotations(
		map[string]string{
			"veltui.io/dry-run": "veltui sent this ConfigMap as a dry run. If it exists, something dropped dryRun=All: " +
				"delete it.",
		},
	)
	r.first = &item{place: place{live.ConfigMaps, o.GetNamespace(), o.GetName()}, asked: true}
	r.first.send = request{
		at:        schema.GroupVersionResource{Version: "v1", Resource: live.ConfigMaps},
		namespace: o.GetNamespace(),
		name:      o.GetName(),
		marked:    true,
	}
	data, err := r.create(ctx, r.first.send.at, o)
	e := proveCreate(o, data, err)
	r.began = e.object.Metadata.CreationTimestamp.Time
	r.judge(r.first, r.corroborate(ctx, r.first, e, err), nil)
	return err
}
