package artifact

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/veltui/veltui/internal/testbed/fixture"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// streamOf returns a Stream of a body, as if it came from store.example.
func streamOf(body io.Reader) *Stream {
	idle := func() *time.Timer { return time.NewTimer(time.Hour) }
	leads, _ := url.Parse("https://store.example/b/x.gz?X-Amz-Signature=topsecretsignature")
	return &Stream{
		cause: func() error { return nil }, cancel: func(error) {}, signed: signedURL{url: leads},
		route: Route{Host: "store.example"}, body: io.NopCloser(body), maxBytes: 1 << 30,
		idleTimer: idle(), totalTimer: idle(), idleTimeout: time.Hour,
	}
}

func textOf(s *Stream) io.Reader {
	return &TextStream{s, &unpacker{stored: s, maxBytes: 1 << 30, ratio: 400, replaced: s.replacedError}}
}

// TestWhatComesInsteadIsNamed reads, as a text, answers that are something other than what Velero stored.
func TestWhatComesInsteadIsNamed(t *testing.T) {
	const page = "<html><head><title>Sign in: https://store.example/b/x.gz?X-Amz-Signature=topsecretsignature</title></head>"
	packed := func(text string) string { return string(zip(text)) }
	tarHead := strings.Repeat("\x00", 148) + "0000400\x00" + strings.Repeat("\x00", 356)
	for name, c := range map[string]struct{ answer, want string }{
		"nothing":       {"", "what store.example returns is empty"},
		"page":          {page, "store.example answers with an HTML page (Sign in: https://store.example/b/x.gz?REDACTED); check for a proxy"},
		"packed page":   {packed(page), "store.example answers with an HTML page"},
		"blanks before": {strings.Repeat("\n", 100) + page, "an HTML page"},
		"S3":            {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>", "(AccessDenied: no)"},
		"zip":           {"PK\x03\x04...", "what store.example returns is a zip archive"},
		"zstd":          {"\x28\xb5\x2f\xfd...", "zstd data"},
		"tar":           {packed(tarHead), "a tar archive"},
		"three layers":  {packed(packed(packed("x"))), "gzip more than 2 times"},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			text, err := io.ReadAll(textOf(streamOf(wrap(strings.NewReader(c.answer)))))
			if !errors.Is(err, ErrReplaced) || !strings.Contains(err.Error(), c.want) || len(text) > 0 {
				t.Errorf("%s, %s: %q, %v, want %q", name, way, text, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "topsecret") {
				t.Errorf("%s: %v holds the signature", name, err)
			}
		}
	}
}

// TestWhatWasDecompressedIsRead reads texts with less or more gzip than Velero stores.
func TestWhatWasDecompressedIsRead(t *testing.T) {
	const log = "time=\"2026-11-28T00:00:00Z\" level=info msg=\"x\"\n"
	for name, answer := range map[string]string{
		"stored": string(zip(log)), "plain": log, "twice": string(zip(string(zip(log)))),
	} {
		got, err := io.ReadAll(textOf(streamOf(iotest.HalfReader(strings.NewReader(answer)))))
		if err != nil || string(got) != log {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// What came before the store broke off is passed on.
	broken := io.MultiReader(strings.NewReader(log), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := io.ReadAll(textOf(streamOf(broken))); string(got) != log || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken off: %q, %v", got, err)
	}
	if got, err := io.ReadAll(textOf(streamOf(strings.NewReader(string(zip("")))))); err != nil || len(got) > 0 {
		t.Errorf("an empty log: %q, %v", got, err)
	}
}

// TestOldCRDIsNamed refuses a DownloadRequest as a CRD does that lacks its kind.
func TestOldCRDIsNamed(t *testing.T) {
	refused := apierrors.NewInvalid(schema.GroupKind{Group: "velero.io", Kind: "DownloadRequest"}, "x", field.ErrorList{
		field.NotSupported(field.NewPath("spec", "target", "kind"), "BackupVolumeInfos", []string{"BackupLog"}),
	})
	for image, want := range map[string]string{
		"velero/velero:v1.18.3": "the CRD downloadrequests.velero.io is older than the server v1.18.3",
		"velero/velero:v1.12.0": "this cluster's Velero does not know the kind BackupVolumeInfos, which came with Velero 1.13",
		"velero/velero:main":    "this cluster's Velero does not know the kind BackupVolumeInfos",
	} {
		pods := corev1.PodList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
			Items: []corev1.Pod{{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "velero-1", Namespace: "velero", Labels: map[string]string{"deploy": "velero"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "velero", Image: image, Command: []string{"/velero"}, Args: []string{"server"},
				}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}},
		}
		api := fixture.NewServer(t, func(w http.ResponseWriter, _ *http.Request) { fixture.WriteJSON(w, pods) })
		f, err := New(Options{Config: api.RESTConfig(), Namespace: "velero"})
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Kind: veleroapi.DownloadTargetKindBackupVolumeInfos, Name: "b"}
		got := f.explainCreate(t.Context(), target, refused)
		if !errors.Is(got, refused) || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %v, want %q", image, got, want)
		}
	}
}
