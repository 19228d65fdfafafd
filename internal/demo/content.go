package demo

import (
	"archive/tar"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/responder"
	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/demo/store"
)

// sceneFiles holds situations in the format of package scene.
//
//go:embed scenes/*.yaml
var sceneFiles embed.FS

// recordedFiles holds the story's recordings, and the stored files of its jobs in
// recordings/stored/KIND/NAME/FILE.gz; recordings/README.md documents their origin.
//
//go:embed recordings/*/watch.jsonl.gz recordings/stored
var recordedFiles embed.FS

// installationScene is the scene of a Velero in which nothing happens.
const installationScene = "scenes/installation.yaml"

// putBuiltinScenes fills the cluster with the demo's own scenes. Existing objects stay as they are, so that each
// scene can stand alone.
func (d *Demo) putBuiltinScenes(names ...string) error {
	for _, name := range names {
		text, err := sceneFiles.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		s, err := scene.Load(bytes.NewReader(text), d.options.Clock())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := d.putScene(s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// putScene fills the cluster, its logs and the object store with a scene.
func (d *Demo) putScene(s *scene.Scene) error {
	for _, o := range s.Objects {
		if o.GetKind() == "BackupStorageLocation" {
			// The address of signed URLs has to be set here.
			if err := unstructured.SetNestedField(o.Object, d.storeURL(), "spec", "config", "publicUrl"); err != nil {
				return fmt.Errorf("location %s: %w", o.GetName(), err)
			}
		}
		if err := d.cluster.PutObject(o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if told, found := s.PodLogs[o.GetName()]; found && o.GetKind() == "Pod" {
			d.appendPodLog(o, told)
		}
		if s.Logs != nil && o.GetKind() == "Pod" && responder.IsServerPod(o) {
			d.appendPodLog(o, s.Logs)
		}
	}
	if s.Stored.Known && !s.Stored.Unreachable {
		d.store.MarkKnown(s.Expect.Job)
	}
	for kind, f := range s.Stored.Files {
		body := []byte(f.Body)
		if strings.HasSuffix(kind, "Log") { // a scene's text cannot have relative times
			body = []byte(
				strings.ReplaceAll("\n"+f.Body, "\nlevel=", "\ntime=\""+f.Modified.UTC().Format(time.RFC3339)+"\" level=")[1:],
			)
		}
		if kind == "BackupContents" && f.Body == "" {
			body = tarballWithoutItems()
		}
		key := store.FileKey{Job: s.Expect.Job, File: kind}
		if f.Plain {
			d.store.PutCompressed(key, f.Modified, body)
		} else {
			d.store.PutText(key, f.Modified, body)
		}
	}
	return d.cluster.EnsureNamespaces()
}

// tarballWithoutItems returns what Velero stores of a backup that holds nothing.
func tarballWithoutItems() []byte {
	var b bytes.Buffer
	const version = "1.1.0\n"
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: "metadata/version", Mode: 0o644, Size: int64(len(version))})
	_, _ = w.Write([]byte(version)) // writing to memory cannot fail
	_ = w.Close()
	return b.Bytes()
}

func (d *Demo) appendPodLog(pod *unstructured.Unstructured, told []scene.LogLine) {
	lines := make([]cluster.LogLine, len(told))
	for n, l := range told {
		lines[n] = cluster.LogLine(l)
	}
	d.cluster.AppendLog(pod.GetNamespace(), pod.GetName(), lines...)
}

// storeRecordedFiles stores the recorded files of a job under the job's name in the demo.
func (d *Demo) storeRecordedFiles(kind, recordedName, name string) {
	dir := path.Join("recordings/stored", kind, recordedName)
	files, err := fs.ReadDir(recordedFiles, dir)
	if err != nil {
		return // nothing was recorded for it
	}
	for _, f := range files {
		content, err := fs.ReadFile(recordedFiles, path.Join(dir, f.Name()))
		if err == nil {
			d.store.PutCompressed(
				store.FileKey{Job: kind + "/" + name, File: strings.TrimSuffix(f.Name(), ".gz")},
				d.options.Clock(),
				content,
			)
		}
	}
}
