package watch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// leastMalformed is how many fields of Velero 1.18.3's kinds take values that
// its types cannot hold; if a test finds fewer it does not look at all.
const leastMalformed = 45

// malformedAll creates one resource for each field that can be malformed, of
// all kinds that are watched; volumes belong to the owner.
func (c *cluster) malformedAll(ns string, owner types.UID) []testbed.CreatedMalformed {
	c.t.Helper()
	fields, err := testbed.MalformedFields()
	if err != nil {
		c.t.Fatal(err)
	}
	created, err := testbed.CreateMalformed(c.t.Context(), c.Client, ns, fields, func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{veleroapi.BackupUIDLabel: string(owner), veleroapi.RestoreUIDLabel: string(owner)})
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if len(created) < leastMalformed {
		c.t.Fatalf("only %d fields could be malformed", len(created))
	}
	return slices.DeleteFunc(created, func(m testbed.CreatedMalformed) bool {
		return !slices.ContainsFunc(kinds, func(k *kind) bool { return k.gvk == m.Kind && !k.optional })
	})
}

func findMalformed(s *Snapshot, uid types.UID) (MalformedObject, bool) {
	i := slices.IndexFunc(s.Malformed, func(m MalformedObject) bool { return m.UID == uid })
	if i < 0 {
		return MalformedObject{}, false
	}
	return s.Malformed[i], true
}

// TestMalformedResourcesCostTheirOwnRow holds every field of every kind that
// the CRD takes and Velero's type does not against a watch that runs and one
// that begins.
func TestMalformedResourcesCostTheirOwnRow(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("malformed")
	good := &veleroapi.Backup{ObjectMeta: named(ns, "good")}
	c.create(good, location(ns, "default"))
	running := c.watch(Options{Namespace: ns})
	running.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })

	created := c.malformedAll(ns, good.UID)
	knowsAll := func(s *Snapshot) bool { return isLive(s) && len(s.Malformed) >= len(created) }
	good.Status.Phase, good.Status.Progress = veleroapi.BackupPhaseInProgress, &veleroapi.BackupProgress{
		TotalItems:    9,
		ItemsBackedUp: 4,
	}
	if err := c.Update(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	moves := func(s *Snapshot) bool { return knowsAll(s) && jobNamed(s, "good").Items.Done == 4 }
	for what, s := range map[string]*Snapshot{
		"a watch that runs":   running.until("the malformed are known and the sound one moves", moves),
		"a watch that begins": c.watch(Options{Namespace: ns}).until("all is known", moves),
	} {
		checkMalformed(t, what, s, created)
	}

	for _, m := range created {
		known, ok := findMalformed(running.Latest(), m.Object.GetUID())
		if !ok {
			continue // has been told above
		}
		patch := decode.BuildPatch(known.Fields)
		if patch == "" {
			t.Errorf("no patch for %s %s", m.Kind.Kind, m.Path)
			continue
		}
		if err := c.Patch(t.Context(), m.Object, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			t.Errorf("%s %s: the API server does not take %s: %v", m.Kind.Kind, m.Path, patch, err)
		}
	}
	running.until("all are mended", func(s *Snapshot) bool { return isLive(s) && len(s.Malformed) == 0 })
}

func checkMalformed(t *testing.T, what string, s *Snapshot, created []testbed.CreatedMalformed) {
	t.Helper()
	good := jobNamed(s, "good")
	for _, m := range created {
		known, ok := findMalformed(s, m.Object.GetUID())
		switch {
		case !ok:
			t.Errorf("%s: %s %s is not known as malformed", what, m.Kind.Kind, m.Path)
			continue
		case known.Name != m.Object.GetName() || known.Kind != m.Kind.Kind || known.Fields[0].Field != m.Path || !strings.Contains(known.Fields[0].Value, m.Value.(string)):
			t.Errorf("%s: %s %s = %v is known as %+v", what, m.Kind.Kind, m.Path, m.Value, known)
		}
		switch m.Kind.Kind {
		case "Backup", "Restore":
			if j := jobNamed(
				s,
				m.Object.GetName(),
			); j == nil || len(j.MalformedFields) != 1 ||
				j.MalformedFields[0] != known.Fields[0] {
				t.Errorf("%s: the job with %s is %+v", what, m.Path, j)
			}
		case "PodVolumeBackup", "PodVolumeRestore", "DataUpload", "DataDownload":
			if i := slices.IndexFunc(
				good.Volumes,
				func(v job.Volume) bool { return v.Name == m.Object.GetName() },
			); i < 0 ||
				good.Volumes[i].MalformedField != known.Fields[0] {
				t.Errorf("%s: the volume with %s is not one of %v", what, m.Path, good.Volumes)
			}
		}
	}
	for _, source := range s.Sources {
		if source.State != SourceLive {
			t.Errorf("%s: %+v", what, source)
		}
	}
}

// TestWithoutASchema is a CRD that lets everything through, as those of very
// old versions and of people in a hurry do.
func TestWithoutASchema(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("schemaless")
	t.Cleanup(func() {
		if err := testbed.InstallCRDs(context.Background(), c.RESTConfig()); err != nil {
			t.Error(err)
		}
	})
	if err := testbed.InstallOpenCRDs(t.Context(), c.RESTConfig(), "backups"); err != nil {
		t.Fatal(err)
	}
	w := c.watch(Options{Namespace: ns})
	w.until("the watch is live", isLive)
	for name, fields := range map[string]map[string]any{
		"sound":      {"spec": map[string]any{"ttl": "1h"}, "status": map[string]any{"phase": "InProgress"}},
		"text":       {"spec": "junk"},
		"list":       {"status": []any{int64(1)}},
		"number":     {"spec": int64(7), "status": true},
		"null":       {"spec": nil},
		"phase":      {"status": map[string]any{"phase": int64(3), "errors": int64(2)}},
		"namespaces": {"spec": map[string]any{"includedNamespaces": []any{"a", int64(1)}}},
		"nothing":    {},
	} {
		o := &unstructured.Unstructured{Object: fields}
		o.SetGroupVersionKind(veleroapi.GroupVersion.WithKind("Backup"))
		o.SetNamespace(ns)
		o.SetName(name)
		c.createOnceTaken(o)
	}
	s := w.until("all are there", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 8 })
	for name, want := range map[string]string{"sound": "", "text": "spec", "list": "status", "number": "spec", "null": "", "phase": "status.phase",
		"namespaces": "spec.includedNamespaces[1]", "nothing": ""} {
		j := jobNamed(s, name)
		switch {
		case want == "" && len(j.MalformedFields) > 0, want != "" && (len(j.MalformedFields) == 0 || j.MalformedFields[0].Field != want):
			t.Errorf("%s: malformed %v, want %s", name, j.MalformedFields, want)
		}
	}
	if j := jobNamed(s, "phase"); j.Errors != 2 {
		t.Errorf("what is sound beside it is lost: %+v", j)
	}
}

// createOnceTaken creates an object as soon as a changed schema lets it through.
func (c *cluster) createOnceTaken(o client.Object) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(
		c.t.Context(),
		50*time.Millisecond,
		enough,
		true,
		func(ctx context.Context) (bool, error) {
			err := c.Create(ctx, o)
			if apierrors.IsInvalid(err) {
				return false, nil
			}
			return err == nil, err
		},
	)
	if err != nil {
		c.t.Fatalf("creating %s: %v", o.GetName(), err)
	}
	c.t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
			c.t.Errorf("deleting %s: %v", o.GetName(), err)
		}
	})
}

// TestMalformedElsewhere: a tenant's location that Velero cannot read must not
// keep anybody from finding Velero.
func TestMalformedElsewhere(t *testing.T) {
	c := newCluster(t)
	c.forgetLocations()
	ns, tenant := c.namespace("found"), c.namespace("a-tenant")
	bad := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"provider":            "aws",
			"validationFrequency": "1d",
			"objectStorage":       map[string]any{"bucket": "b"},
		},
	}}
	bad.SetGroupVersionKind(veleroapi.GroupVersion.WithKind("BackupStorageLocation"))
	bad.SetNamespace(tenant)
	bad.SetName("bad")
	c.createOnceTaken(bad)
	c.create(location(ns, "default"))
	s := c.watch(Options{}).until("Velero is found", isLive)
	if s.Namespace != tenant || !slices.Equal(s.OtherNamespaces, []string{ns}) {
		t.Errorf("found %s and %v", s.Namespace, s.OtherNamespaces)
	}
}
