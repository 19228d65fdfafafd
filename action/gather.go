package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// gathering asks one question after the other. A question that the API server
// cannot answer now fails the whole; one that it refuses stays open.
type gathering struct {
	ctx       context.Context
	client    *client.Client
	logs      *logCache
	now       func() time.Time
	namespace string
	e         *Evidence
	// backup is a restore's backup, nil if it could not be read.
	backup *velerov1.Backup
}

// gatherDeadline is how long Gather puts up with an API server that is busy or
// away; nobody waits longer for something to be shown.
const gatherDeadline = 30 * time.Second

// gatherAttempt bounds one look, which is a dozen requests one after the other:
// each has the time of an attempt of its own, and an API server that takes a
// second for each is still answering.
func gatherAttempt(o Options) time.Duration { return 4 * attemptTimeout(o) }

func attemptTimeout(o Options) time.Duration {
	if o.AttemptTimeout <= 0 {
		return retry.DefaultAttempt
	}
	return o.AttemptTimeout
}

// Gather reads all that a plan for one job stands on.
func (f *Engine) Gather(ctx context.Context, kind job.Kind, name string) (e Evidence, err error) {
	o := retry.Options{Backoff: f.o.Backoff, Deadline: gatherDeadline, AttemptTimeout: gatherAttempt(f.o), Refresh: f.access.refresh}
	err = retry.RetryOnErrorMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = f.gather(ctx, kind, name)
		return err
	})
	if err == nil {
		f.artifacts(ctx, &e, nil)
	}
	return e, err
}

// gather is what the API server can tell.
func (f *Engine) gather(ctx context.Context, kind job.Kind, name string) (Evidence, error) {
	e := Evidence{engine: f}
	g := gathering{ctx: ctx, client: f.access.get(), logs: &f.logs, now: f.o.Now, namespace: f.o.Namespace, e: &e}
	var err error
	if e.Cluster, err = f.access.session.Identify(ctx); err != nil {
		return e, err
	}
	if err := g.object(kind, name); err != nil {
		return e, err
	}
	in, err := g.typed(kind)
	if err != nil {
		return e, err
	}
	volumes, err := g.volumes(kind)
	if err != nil {
		return e, err
	}
	e.At, e.skew = f.access.clocks(f.o.Now(), e.Object)
	in.Volumes, in.At = volumes, e.At
	e.Job = job.Next(nil, in)
	e.VeleroWrote = veleroWrote(e.Object)
	for _, ask := range []func() error{g.server, g.slots, g.log, g.location, g.locations, g.hooks, g.snapshots, g.targets, g.permissions, g.phases, g.subresource, g.others, g.identity} {
		if err := ask(); err != nil {
			return e, err
		}
	}
	e.By = strings.TrimSpace(e.By)
	if e.By == "" {
		e.By = f.o.By
	}
	return e, nil
}

// answered reports whether the API server answered a question. It puts a refusal into
// why, if that is not nil, and returns an error that time may mend.
func answered(what string, failed error, why *string) (ok bool, _ error) {
	refusal, err := open(what, failed)
	if why != nil && err == nil {
		*why = refusal
	}
	return err == nil && refusal == "", err
}

// open turns a refusal of the API server into words, and passes on an error
// that time may mend.
func open(what string, err error) (why string, _ error) {
	switch {
	case err == nil:
		return "", nil
	case retry.Classify(err) == retry.Permanent && !errors.Is(err, context.Canceled):
		return sanitize.String(err.Error()), nil
	}
	return "", fmt.Errorf("%s: %w", what, err)
}

func (g *gathering) object(kind job.Kind, name string) error {
	o := bare(jobKind(kind), g.namespace, name)
	if err := g.client.Get(g.ctx, o); err != nil {
		return fmt.Errorf("reading %s %s: %w", kind.Word(), name, err)
	}
	g.e.Object = o
	return nil
}

// typed is the job's resource as Velero's types hold it.
func (g *gathering) typed(kind job.Kind) (in job.Input, err error) {
	if kind == job.Restore {
		in.Restore = &velerov1.Restore{}
		in.Malformed, err = convert(g.e.Object, in.Restore)
		return in, err
	}
	in.Backup = &velerov1.Backup{}
	in.Malformed, err = convert(g.e.Object, in.Backup)
	return in, err
}

// permissions asks whether we may patch the job, and the volumes that have not
// ended.
func (g *gathering) permissions() (err error) {
	g.e.MayPatch, g.e.MayPatchWhy, err = g.mayPatch(velerov1.SchemeGroupVersion, g.e.Job.Kind.Resource(), g.e.Job.Name)
	g.e.MayCancel = map[velero.VolumeKind]Answer{}
	for _, v := range g.e.moving() {
		if _, asked := g.e.MayCancel[v.Kind]; asked || err != nil {
			continue
		}
		gvk := v.Kind.GroupVersionKind()
		g.e.MayCancel[v.Kind], _, err = g.mayPatch(gvk.GroupVersion(), v.Kind.Resource(), "")
	}
	return err
}

// mayPatch asks about one object, or about all of a resource if name is empty.
func (g *gathering) mayPatch(group schema.GroupVersion, resource, name string) (Answer, string, error) {
	may, err := g.client.May(g.ctx, authorizationv1.ResourceAttributes{
		Namespace: g.namespace, Verb: "patch", Group: group.Group, Version: group.Version, Resource: resource, Name: name,
	})
	why, err := open("asking for permission", err)
	switch {
	case err != nil || why != "":
		return Unknown, why, err
	case may.Allowed:
		return Yes, "", nil
	}
	return No, sanitize.String(may.Reason), nil
}

// phases reads from the CRD which phases it allows and which versions it is of.
func (g *gathering) phases() error {
	crd := bare(velero.CustomResourceDefinition, "", qualified(g.e.Job.Kind))
	if ok, err := answered("reading the CRD", g.client.Get(g.ctx, crd), &g.e.PhasesWhy); !ok {
		return err
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["name"] != velerov1.SchemeGroupVersion.Version {
			continue
		}
		if _, split, _ := unstructured.NestedMap(version, "subresources", "status"); split {
			g.e.StatusSubresource = true
		}
		spec, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		status, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties")
		g.e.Schema, _ = velero.SchemaVersionsOf(string(g.e.Job.Kind), spec, status)
		enum, _, _ := unstructured.NestedSlice(status, "phase", "enum")
		for _, value := range enum {
			g.e.Phases = append(g.e.Phases, sanitize.String(fmt.Sprint(value)))
		}
	}
	if g.e.Phases == nil {
		g.e.PhasesWhy = "the CRD lists none"
	}
	return nil
}

func (g *gathering) subresource() error {
	list, err := g.client.Resources(g.ctx, velerov1.SchemeGroupVersion)
	if ok, err := answered("asking for Velero's resources", err, nil); !ok {
		return err
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == g.e.Job.Kind.Resource()+"/status" {
			g.e.StatusSubresource = true
		}
	}
	return nil
}

func (g *gathering) identity() error {
	user, err := g.client.User(g.ctx)
	why, err := open("asking who we are", err)
	if err == nil && why == "" {
		g.e.By = sanitize.String(user.Username)
	}
	return err
}

// read reads one resource of Velero's namespace into a typed one, as far as its
// type can hold it.
func (g *gathering) read(kind schema.GroupVersionKind, name string, into client.Object) error {
	o := bare(kind, g.namespace, name)
	if err := g.client.Get(g.ctx, o); err != nil {
		return err
	}
	_, err := convert(o, into)
	return err
}

// convert makes a typed resource with harmless texts, and names what its type
// could not hold.
func convert(o *unstructured.Unstructured, into any) ([]decode.Malformed, error) {
	malformed, err := decode.Unstructured(o, into)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	sanitize.Object(into)
	return malformed, nil
}

// listRaw lists resources of Velero's namespace as the API server sends them.
func (g *gathering) listRaw(kind schema.GroupVersionKind, labels ...string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := g.client.List(g.ctx, list, g.namespace, metav1.ListOptions{LabelSelector: strings.Join(labels, ",")})
	return list.Items, err
}

// list lists typed resources. One that is malformed is left with what its type
// can hold, and takes nothing from the others.
func list[T any](g *gathering, kind schema.GroupVersionKind) ([]T, error) {
	raw, err := g.listRaw(kind)
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(raw))
	for i := range raw {
		if _, err := convert(&raw[i], &typed[i]); err != nil {
			return nil, err
		}
	}
	return typed, nil
}
