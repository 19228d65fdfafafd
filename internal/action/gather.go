package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/retry"
)

// gathering asks one question after the other. A refused one stays open; one without an answer sets err and fails all.
type gathering struct {
	*Engine
	ctx    context.Context
	client *client.Client
	e      *Evidence
	err    error
	backup *velerov1.Backup // a restore's backup, nil if it could not be read
}

// gatherDeadline limits how long Gather retries while the API server is busy or away.
const gatherDeadline = 30 * time.Second

// gatherAttempt bounds one look, a dozen requests: an API server that takes a second for each still answers.
func gatherAttempt(o Options) time.Duration { return 4 * attemptTimeout(o) }

func attemptTimeout(o Options) time.Duration {
	if o.AttemptTimeout <= 0 {
		return retry.DefaultAttempt
	}
	return o.AttemptTimeout
}

// Gather reads all that a plan for one job stands on.
func (f *Engine) Gather(ctx context.Context, kind job.Kind, name string) (e Evidence, err error) {
	e, err = f.patiently(ctx, func(ctx context.Context) (Evidence, error) { return f.gather(ctx, kind, name) })
	if err == nil {
		f.GatherStored(ctx, &e, nil)
	}
	return e, err
}

// patiently asks again while the API server is busy or away.
func (f *Engine) patiently(ctx context.Context, ask func(context.Context) (Evidence, error)) (e Evidence, err error) {
	o := retry.Options{
		Backoff:        f.o.Backoff,
		Deadline:       gatherDeadline,
		AttemptTimeout: gatherAttempt(f.o),
		Refresh:        f.access.refresh,
	}
	err = retry.RetryOnErrorMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = ask(ctx)
		return err
	})
	return e, err
}

func (f *Engine) gather(ctx context.Context, kind job.Kind, name string) (Evidence, error) {
	e := Evidence{engine: f, Object: bare(jobKind(kind), f.o.Namespace, name)}
	g := gathering{Engine: f, ctx: ctx, client: f.access.get(), e: &e}
	var err error
	if e.Cluster, err = f.access.Identify(ctx); err != nil {
		return e, err
	}
	if err := g.client.Get(ctx, e.Object); err != nil {
		return e, fmt.Errorf("reading %s %s: %w", kind.Word(), name, err)
	}
	in, err := typed(kind, e.Object, convert)
	if err != nil {
		return e, err
	}
	if in.Volumes = g.volumes(kind); g.err != nil {
		return e, g.err
	}
	e.At, e.skew = f.access.clocks(f.o.Now(), e.Object)
	in.At = e.At
	e.Job = job.Next(nil, in)
	e.VeleroWrote = veleroWrote(e.Object)
	g.ask(
		g.server,
		g.slots,
		g.log,
		g.location,
		g.locations,
		g.hooks,
		g.snapshots,
		g.targets,
		g.permissions,
		g.phases,
		g.subresource,
		g.others,
		g.identity,
	)
	return e, g.err
}

// ask asks one question after the other until one fails.
func (g *gathering) ask(questions ...func()) {
	for i := 0; i < len(questions) && g.err == nil; i++ {
		questions[i]()
	}
}

// seen reports whether the API server answered. A refusal goes into why; an error that time may mend fails all.
func (g *gathering) seen(what string, err error, why *string) bool {
	switch {
	case err == nil:
		return true
	case retry.Classify(err) != retry.Permanent || errors.Is(err, context.Canceled):
		g.err = fmt.Errorf("%s: %w", what, err)
	case why != nil:
		*why = sanitize.String(err.Error())
	}
	return false
}

func typed(
	kind job.Kind,
	o *unstructured.Unstructured,
	read func(*unstructured.Unstructured, any) ([]decode.Malformed, error),
) (in job.Input, err error) {
	if kind == job.Restore {
		in.Restore = &velerov1.Restore{}
		in.Malformed, err = read(o, in.Restore)
		return in, err
	}
	in.Backup = &velerov1.Backup{}
	in.Malformed, err = read(o, in.Backup)
	return in, err
}

func (g *gathering) permissions() {
	right := rightTo("patch", velerov1.SchemeGroupVersion, g.e.Job.Kind.Resource(), g.o.Namespace)
	right.Name = g.e.Job.Name
	g.e.MayPatch, g.e.MayPatchWhy = g.allowed(right)
	g.e.MayCancel = map[velero.VolumeKind]Answer{}
	for _, v := range g.e.moving() {
		if _, asked := g.e.MayCancel[v.Kind]; !asked && g.err == nil {
			g.e.MayCancel[v.Kind], _ = g.allowed(
				rightTo("patch", v.Kind.GroupVersionKind().GroupVersion(), v.Kind.Resource(), g.o.Namespace),
			)
		}
	}
}

// allowed asks about one object, or about all of a resource if the right has no name.
func (g *gathering) allowed(right authorizationv1.ResourceAttributes) (_ Answer, why string) {
	may, err := g.client.May(g.ctx, right)
	switch {
	case !g.seen("asking for permission", err, &why):
		return Unknown, why
	case may.Allowed:
		return Yes, ""
	}
	return No, sanitize.String(may.Reason)
}

// phases reads from the CRD which phases it allows and which versions it is of.
func (g *gathering) phases() {
	crd := bare(velero.CustomResourceDefinition, "", qualified(g.e.Job.Kind))
	if !g.seen("reading the CRD", g.client.Get(g.ctx, crd), &g.e.PhasesWhy) {
		return
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
		status, _, _ := unstructured.NestedMap(
			version,
			"schema",
			"openAPIV3Schema",
			"properties",
			"status",
			"properties",
		)
		g.e.Schema, _ = velero.SchemaVersionsOf(string(g.e.Job.Kind), spec, status)
		enum, _, _ := unstructured.NestedSlice(status, "phase", "enum")
		for _, value := range enum {
			g.e.Phases = append(g.e.Phases, sanitize.String(fmt.Sprint(value)))
		}
	}
	if g.e.Phases == nil {
		g.e.PhasesWhy = "the CRD lists none"
	}
}

func (g *gathering) subresource() {
	list, err := g.client.Resources(g.ctx, velerov1.SchemeGroupVersion)
	if g.seen("asking for Velero's resources", err, nil) &&
		slices.ContainsFunc(
			list.APIResources,
			func(r metav1.APIResource) bool { return r.Name == g.e.Job.Kind.Resource()+"/status" },
		) {
		g.e.StatusSubresource = true
	}
}

func (g *gathering) identity() {
	user, err := g.client.User(g.ctx)
	if g.seen("asking who we are", err, nil) {
		g.e.By = strings.TrimSpace(sanitize.String(user.Username))
	}
	g.e.By = cmp.Or(g.e.By, g.o.By)
}

// others lists the other jobs that have not ended, or run on after somebody wrote a final phase, and the queue.
func (g *gathering) others() {
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		raw, err := g.list(jobKind(kind), g.o.Namespace)
		if g.seen("listing "+kind.Resource(), err, &g.e.OthersWhy); g.err != nil {
			return
		}
		slices.SortStableFunc(
			raw,
			func(a, b unstructured.Unstructured) int { return cmp.Compare(queuePosition(&a), queuePosition(&b)) },
		)
		for i := range raw {
			g.other(kind, &raw[i])
		}
	}
}

func queuePosition(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "queuePosition")
	return n
}

func (g *gathering) other(kind job.Kind, o *unstructured.Unstructured) {
	name, phase := sanitize.String(o.GetName()), sanitize.String(phaseOf(o))
	// An object that was read as one is one, so that there is no error.
	if in, _ := typed(kind, o, decode.Unstructured); len(in.Malformed) > 0 {
		g.e.Malformed = append(
			g.e.Malformed,
			diagnosis.Malformed{Ref: kind.Word() + "/" + name, Field: in.Malformed[0]},
		)
	}
	if o.GetUID() == g.e.Job.UID {
		return
	}
	running := runsOn(o, g.e.At)
	if running || !velero.TerminalPhase(phase) {
		g.e.Others = append(g.e.Others, Other{Kind: kind, Name: name, Phase: phase, Running: running})
	}
	if phase == velero.PhaseQueued && kind == job.Backup && g.e.Job.Kind == job.Backup {
		g.e.Queued = append(g.e.Queued, name)
	}
}

// targets finds namespaces to restore into that are being deleted (issues 5697, 7516, 8234).
func (g *gathering) targets() {
	restore, ok := g.e.Job.Object.(*velerov1.Restore)
	if !ok || g.e.Job.Terminal() {
		return
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	err := g.client.List(g.ctx, list, "", metav1.ListOptions{})
	if g.e.NamespacesSeen = g.seen("listing namespaces", err, &g.e.NamespacesWhy); !g.e.NamespacesSeen {
		return
	}
	for i := range list.Items {
		if n := &list.Items[i]; n.DeletionTimestamp != nil && velero.RestoresInto(restore, g.backup, n.Name) {
			g.e.Terminating = append(g.e.Terminating, n.Name)
		}
	}
}

func (g *gathering) get(kind schema.GroupVersionKind, name string, into client.Object) error {
	o := bare(kind, g.o.Namespace, name)
	if err := g.client.Get(g.ctx, o); err != nil {
		return err
	}
	_, err := convert(o, into)
	return err
}

// list lists resources of a namespace, or of all, as the API server sends them.
func (g *gathering) list(
	kind schema.GroupVersionKind,
	namespace string,
	labels ...string,
) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := g.client.List(g.ctx, list, namespace, metav1.ListOptions{LabelSelector: strings.Join(labels, ",")})
	return list.Items, err
}

// all lists a kind of Velero's in its namespace; why says why that is refused.
func (g *gathering) all(kind job.Kind, labels ...string) (found []unstructured.Unstructured, why string) {
	found, err := g.list(jobKind(kind), g.o.Namespace, labels...)
	g.seen("listing "+kind.Resource(), err, &why)
	return found, why
}

// convert reads a typed resource with harmless texts, and what its type could not hold.
func convert(o *unstructured.Unstructured, into any) ([]decode.Malformed, error) {
	malformed, err := decode.Unstructured(o, into)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	sanitize.Object(into)
	return malformed, nil
}
