package artifact

import (
	"context"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestMalformedAnswer: an answer, a backup or a location with a field that Velero's
// types cannot hold is taken for what else it says.
func TestMalformedAnswer(t *testing.T) {
	b := newBed(t, false, serve([]byte("stored")))
	for kind, patch := range map[string]string{
		"BackupStorageLocation/main": `{"spec":{"validationFrequency":"1d"}}`,
		"Backup/" + backupName:       `{"spec":{"ttl":"30d"},"status":{"startTimestamp":"2026-11-21t00:00:00z"}}`,
	} {
		kind, name, _ := strings.Cut(kind, "/")
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(veleroapi.GroupVersion.WithKind(kind))
		o.SetNamespace(b.namespace)
		o.SetName(name)
		if err := b.api.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	b.sign = func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
		patch := `{"status":{"phase":"Processed","expiration":"2026-11-21t00:00:00z","downloadURL":"` + b.urlFor(
			r,
		) + `"}}`
		if err := b.api.Patch(
			ctx,
			r.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(patch)),
		); err != nil &&
			ctx.Err() == nil {
			// The test's own typed client fails on what it gets back.
			t.Log(err)
		}
	}
	stream, err := b.fetcher().Open(t.Context(), contents())
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil || string(text) != "stored" {
		t.Errorf("%q, %v", text, err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}
