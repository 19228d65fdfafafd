package action

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// changeCRD changes the version of a CRD and undoes that when the test ends.
func (in *installation) changeCRD(name string, change func(version map[string]any)) {
	in.t.Helper()
	apply := func(ctx context.Context, change func(map[string]any)) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(velero.CRDGroupVersionKind)
		if err := in.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			in.t.Fatal(err)
		}
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			in.t.Fatal(err)
		}
		change(versions[0].(map[string]any))
		if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
			in.t.Fatal(err)
		}
		if err := in.Update(ctx, crd); err != nil {
			in.t.Fatal(err)
		}
	}
	var original map[string]any
	apply(in.t.Context(), func(v map[string]any) {
		original = (&unstructured.Unstructured{Object: v}).DeepCopy().Object
		change(v)
	})
	in.t.Cleanup(func() {
		apply(context.Background(), func(v map[string]any) {
			clear(v)
			for key, value := range original {
				v[key] = value
			}
		})
	})
}

// eventually waits for what must come.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// The CRD is older than the server (Velero issue 6170): told from the schema to
// those who may read it, and from the dry run to the others.
func TestCRDWithoutThePhase(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(-time.Hour))
	in.restore("r")
	in.changeCRD("restores.velero.io", func(v map[string]any) {
		path := []string{"schema", "openAPIV3Schema", "properties", "status", "properties", "phase", "enum"}
		err := unstructured.SetNestedSlice(
			v,
			[]any{"New", "FailedValidation", "InProgress", "Completed", "PartiallyFailed", "Failed"},
			path...)
		if err != nil {
			t.Fatal(err)
		}
	})
	withStore := func(o *Options) { s := holding(job.StoredCounts{}); o.Prober, o.CountReader = s, s }

	p := in.plan(in.finalizer(withStore), job.Restore, "r", Request{})
	if p.Effect() != EffectRefuse || !strings.Contains(p.Refusal, "does not allow phase Finalizing") ||
		!strings.Contains(p.Advice, "crds-only") {
		t.Errorf("%s: %q, %q", p.Action, p.Refusal, p.Advice)
	}
	if schema := p.Evidence().SchemaVersions.String(); schema != "v1.18.3 or later" { // the rest of it is as it was
		t.Errorf("the CRD is of %s", schema)
	}

	f := in.finalizer(
		withStore,
		func(o *Options) { o.Session = in.session(in.user("operator-"+in.namespace, operator...)) },
	)
	p = in.plan(f, job.Restore, "r", Request{})
	if p.ToPhase != "Finalizing" {
		t.Fatalf("%s: %q", p.Action, p.Refusal)
	}
	eventually(t, "the API server uses the old CRD", func() bool {
		out, err := f.ApplyPlan(t.Context(), p, true, nil)
		return err == nil && out.State == StateRefused && strings.Contains(out.Message, "Unsupported value")
	})
	out, err := f.ApplyPlan(t.Context(), p, false, nil)
	if err != nil || out.State != StateRefused || out.Sent != NotSent || in.requests.patches() != 0 {
		t.Errorf("%v, %+v", err, out)
	}
}

func TestCRDWithStatusSubresource(t *testing.T) {
	in := install(t)
	in.server(time.Now().Add(10 * time.Minute))
	in.restore("r")
	before := in.plan(in.finalizer(), job.Restore, "r", Request{})
	in.changeCRD("restores.velero.io", func(v map[string]any) {
		v["subresources"] = map[string]any{"status": map[string]any{}}
	})
	f := in.finalizer()
	eventually(t, "discovery knows of the subresource", func() bool {
		p := in.plan(f, job.Restore, "r", Request{})
		return p.Effect() == EffectRefuse && strings.Contains(p.Refusal, "status subresource")
	})
	// Where discovery is behind, the dry run tells.
	x := f.newExecution(finalizeAction{}, before, true, nil)
	if err := x.prepareWrites(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.runDryRuns(
		t.Context(),
	); err != errExecutionEnded || x.outcome.State != StateRefused ||
		!strings.Contains(x.outcome.Message, "status subresource") {
		t.Errorf("%v, %+v", err, x.outcome)
	}
}
