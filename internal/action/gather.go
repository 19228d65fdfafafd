package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// gatherer asks one question after the other. A refused question stays open; a question without an answer sets err
// and ends the gathering.
type gatherer struct {
	*Engine
	ctx      context.Context
	client   *client.Client
	evidence *Evidence
	err      error
	backup   *veleroapi.Backup // a restore's backup, nil if it could not be read
}

// gatherTimeout limits how long GatherEvidence retries while the API server is busy or unreachable.
const gatherTimeout = 30 * time.Second

// gatherAttemptTimeout returns the time limit of one attempt, a dozen requests: an API server that needs a second for
// each still answers.
func gatherAttemptTimeout(o Options) time.Duration { return 4 * attemptTimeout(o) }

func attemptTimeout(o Options) time.Duration {
	if o.AttemptTimeout <= 0 {
		return retry.DefaultAttemptTimeout
	}
	return o.AttemptTimeout
}

// GatherEvidence reads everything that a plan for one job rests on.
func (f *Engine) GatherEvidence(ctx context.Context, kind job.Kind, name string) (e Evidence, err error) {
	e, err = f.withDeadline(ctx, func(ctx context.Context) (Evidence, error) { return f.gatherJob(ctx, kind, name) })
	if err == nil {
		f.GatherStored(ctx, &e, nil)
	}
	return e, err
}

// withDeadline calls ask again while the API server is busy or unreachable.
func (f *Engine) withDeadline(
	ctx context.Context,
	ask func(context.Context) (Evidence, error),
) (e Evidence, err error) {
	o := retry.Options{
		Backoff:        f.options.Backoff,
		Deadline:       gatherTimeout,
		AttemptTimeout: gatherAttemptTimeout(f.options),
		Refresh:        f.connection.refreshCredentials,
	}
	err = retry.RetryOnErrorMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = ask(ctx)
		return err
	})
	return e, err
}

func (f *Engine) gatherJob(ctx context.Context, kind job.Kind, name string) (Evidence, error) {
	e := Evidence{engine: f, Object: newObject(jobGVK(kind), f.options.Namespace, name)}
	g := gatherer{Engine: f, ctx: ctx, client: f.connection.currentClient(), evidence: &e}
	var err error
	if e.Cluster, err = f.connection.Identify(ctx); err != nil {
		return e, err
	}
	if err := g.client.Get(ctx, e.Object); err != nil {
		return e, fmt.Errorf("reading %s %s: %w", kind.Noun(), name, err)
	}
	in, err := buildObservation(kind, e.Object, convertObject)
	if err != nil {
		return e, err
	}
	if in.Volumes = g.fetchVolumes(kind); g.err != nil {
		return e, g.err
	}
	e.Now, e.clockSkew = f.connection.compareClocks(f.options.Now(), e.Object)
	in.ObservedAt = e.Now
	e.Job = job.Fold(nil, in)
	e.LastVeleroWrite = lastVeleroWrite(e.Object)
	g.runQueries(
		g.fetchServer,
		g.fetchSlots,
		g.fetchServerLogs,
		g.fetchLocation,
		g.fetchLocations,
		g.fetchHooks,
		g.fetchSnapshots,
		g.fetchTerminatingNamespaces,
		g.checkPermissions,
		g.fetchSchema,
		g.checkStatusSubresource,
		g.fetchOtherJobs,
		g.fetchUser,
	)
	return e, g.err
}

// runQueries asks one question after the other until one fails.
func (g *gatherer) runQueries(questions ...func()) {
	for i := 0; i < len(questions) && g.err == nil; i++ {
		questions[i]()
	}
}

// checkAnswer reports whether the API server answered. A refusal is written to why; an error that may pass ends the
// gathering.
func (g *gatherer) checkAnswer(what string, err error, why *string) bool {
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

func buildObservation(
	kind job.Kind,
	o *unstructured.Unstructured,
	read func(*unstructured.Unstructured, any) ([]decode.MalformedField, error),
) (in job.Observation, err error) {
	if kind == job.Restore {
		in.Restore = &veleroapi.Restore{}
		in.MalformedFields, err = read(o, in.Restore)
		return in, err
	}
	in.Backup = &veleroapi.Backup{}
	in.MalformedFields, err = read(o, in.Backup)
	return in, err
}

func (g *gatherer) checkPermissions() {
	right := newAccessRight("patch", veleroapi.GroupVersion, g.evidence.Job.Kind.Resource(), g.options.Namespace)
	right.Name = g.evidence.Job.Name
	g.evidence.MayPatch, g.evidence.MayPatchReason = g.checkAccess(right)
	g.evidence.MayCancel = map[velero.VolumeKind]TriState{}
	for _, v := range g.evidence.unendedVolumes() {
		if _, asked := g.evidence.MayCancel[v.Kind]; !asked && g.err == nil {
			g.evidence.MayCancel[v.Kind], _ = g.checkAccess(
				newAccessRight("patch", v.Kind.GroupVersionKind().GroupVersion(), v.Kind.Resource(), g.options.Namespace),
			)
		}
	}
}

// checkAccess checks the right to one object, or to all objects of a resource if the right has no name.
func (g *gatherer) checkAccess(right authorizationv1.ResourceAttributes) (_ TriState, why string) {
	may, err := g.client.CheckAccess(g.ctx, right)
	switch {
	case !g.checkAnswer("asking for permission", err, &why):
		return Unknown, why
	case may.Allowed:
		return Yes, ""
	}
	return No, sanitize.String(may.Reason)
}

// fetchSchema reads from the CRD the phases it allows and the versions that its schema fits.
func (g *gatherer) fetchSchema() {
	crd := newObject(velero.CRDGroupVersionKind, "", qualifiedResource(g.evidence.Job.Kind))
	if !g.checkAnswer("reading the CRD", g.client.Get(g.ctx, crd), &g.evidence.PhasesUnchecked) {
		return
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["name"] != veleroapi.GroupVersion.Version {
			continue
		}
		if _, split, _ := unstructured.NestedMap(version, "subresources", "status"); split {
			g.evidence.HasStatusSubresource = true
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
		g.evidence.SchemaVersions, _ = velero.SchemaVersionsOf(string(g.evidence.Job.Kind), spec, status)
		enum, _, _ := unstructured.NestedSlice(status, "phase", "enum")
		for _, value := range enum {
			g.evidence.AllowedPhases = append(g.evidence.AllowedPhases, sanitize.String(fmt.Sprint(value)))
		}
	}
	if g.evidence.AllowedPhases == nil {
		g.evidence.PhasesUnchecked = "the CRD lists none"
	}
}

func (g *gatherer) checkStatusSubresource() {
	list, err := g.client.ServerResources(g.ctx, veleroapi.GroupVersion)
	if g.checkAnswer("asking for Velero's resources", err, nil) &&
		slices.ContainsFunc(
			list.APIResources,
			func(r metav1.APIResource) bool { return r.Name == g.evidence.Job.Kind.Resource()+"/status" },
		) {
		g.evidence.HasStatusSubresource = true
	}
}

func (g *gatherer) fetchUser() {
	user, err := g.client.CurrentUser(g.ctx)
	if g.checkAnswer("asking who we are", err, nil) {
		g.evidence.Username = strings.TrimSpace(sanitize.String(user.Username))
	}
	g.evidence.Username = cmp.Or(g.evidence.Username, g.options.Username)
}

// fetchOtherJobs lists the queue, and the other jobs that have not ended or that continue after somebody wrote a
// final phase.
func (g *gatherer) fetchOtherJobs() {
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		raw, err := g.listObjects(jobGVK(kind), g.options.Namespace)
		if g.checkAnswer("listing "+kind.Resource(), err, &g.evidence.OtherJobsUnchecked); g.err != nil {
			return
		}
		slices.SortStableFunc(
			raw,
			func(a, b unstructured.Unstructured) int { return cmp.Compare(queuePosition(&a), queuePosition(&b)) },
		)
		for i := range raw {
			g.addOtherJob(kind, &raw[i])
		}
	}
}

func queuePosition(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "queuePosition")
	return n
}

func (g *gatherer) addOtherJob(kind job.Kind, o *unstructured.Unstructured) {
	name, phase := sanitize.String(o.GetName()), sanitize.String(phaseOf(o))
	// An object that was already read as unstructured converts without an error.
	if in, _ := buildObservation(kind, o, decode.Unstructured); len(in.MalformedFields) > 0 {
		g.evidence.MalformedJobs = append(
			g.evidence.MalformedJobs,
			diagnosis.MalformedResource{Ref: kind.Noun() + "/" + name, Field: in.MalformedFields[0]},
		)
	}
	if o.GetUID() == g.evidence.Job.UID {
		return
	}
	running := isStillRunning(o, g.evidence.Now)
	if running || !velero.IsTerminalPhase(phase) {
		g.evidence.OtherJobs = append(
			g.evidence.OtherJobs,
			OtherJob{Kind: kind, Name: name, Phase: phase, IsRunning: running},
		)
	}
	if phase == velero.PhaseQueued && kind == job.Backup && g.evidence.Job.Kind == job.Backup {
		g.evidence.QueuedBackups = append(g.evidence.QueuedBackups, name)
	}
}

// fetchTerminatingNamespaces finds target namespaces of the restore that are being deleted (issues 5697, 7516, 8234).
func (g *gatherer) fetchTerminatingNamespaces() {
	restore, ok := g.evidence.Job.Object.(*veleroapi.Restore)
	if !ok || g.evidence.Job.IsTerminal() {
		return
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	err := g.client.List(g.ctx, list, "", metav1.ListOptions{})
	if g.evidence.NamespacesChecked = g.checkAnswer(
		"listing namespaces",
		err,
		&g.evidence.NamespacesUnchecked,
	); !g.evidence.NamespacesChecked {
		return
	}
	for i := range list.Items {
		if n := &list.Items[i]; n.DeletionTimestamp != nil && velero.MayRestoreInto(restore, g.backup, n.Name) {
			g.evidence.TerminatingNamespaces = append(g.evidence.TerminatingNamespaces, n.Name)
		}
	}
}

func (g *gatherer) readTyped(kind schema.GroupVersionKind, name string, into client.Object) error {
	o := newObject(kind, g.options.Namespace, name)
	if err := g.client.Get(g.ctx, o); err != nil {
		return err
	}
	_, err := convertObject(o, into)
	return err
}

// listObjects lists resources of a namespace, or of all namespaces, as the API server sends them.
func (g *gatherer) listObjects(
	kind schema.GroupVersionKind,
	namespace string,
	labels ...string,
) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := g.client.List(g.ctx, list, namespace, metav1.ListOptions{LabelSelector: strings.Join(labels, ",")})
	return list.Items, err
}

// listVeleroKind lists one of Velero's kinds in its namespace; why says why that is refused.
func (g *gatherer) listVeleroKind(kind job.Kind, labels ...string) (found []unstructured.Unstructured, why string) {
	found, err := g.listObjects(jobGVK(kind), g.options.Namespace, labels...)
	g.checkAnswer("listing "+kind.Resource(), err, &why)
	return found, why
}

// convertObject converts a resource to a typed one with sanitized texts, and returns the fields that the type could
// not hold.
func convertObject(o *unstructured.Unstructured, into any) ([]decode.MalformedField, error) {
	malformed, err := decode.Unstructured(o, into)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	sanitize.Object(into)
	return malformed, nil
}
