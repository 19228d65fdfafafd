package demo

import (
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

// scenes are situations in the format of package scene.
//
//go:embed scenes/*.yaml
var scenes embed.FS

// recorded holds the story's recordings, and what is stored for its jobs in
// recordings/stored/KIND/NAME/FILE.gz; recordings/README.md says where all of
// it comes from.
//
//go:embed recordings/*/watch.jsonl.gz recordings/stored
var recorded embed.FS

// installation is the scene of a Velero in which nothing happens.
const installation = "scenes/installation.yaml"

// putOwn fills the cluster with scenes of the demo's own. What is there already
// stays as it is, so that each scene can stand alone.
func (d *Demo) putOwn(names ...string) error {
	for _, name := range names {
		text, err := scenes.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		s, err := scene.Load(bytes.NewReader(text), d.options.Clock())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := d.put(s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// put fills the cluster, its logs and the object store with a scene.
func (d *Demo) put(s *scene.Scene) error {
	for _, o := range s.Objects {
		if o.GetKind() == "BackupStorageLocation" {
			// The address that signed URLs lead to has to be named here.
			if err := unstructured.SetNestedField(o.Object, d.storeURL(), "spec", "config", "publicUrl"); err != nil {
				return fmt.Errorf("location %s: %w", o.GetName(), err)
			}
		}
		if err := d.cluster.Put(o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if told, found := s.PodLogs[o.GetName()]; found && o.GetKind() == "Pod" {
			d.log(o, told)
		}
		if s.Logs != nil && o.GetKind() == "Pod" && responder.IsServer(o) {
			d.log(o, s.Logs)
		}
	}
	if s.Stored.Known && !s.Stored.Unreachable {
		d.store.Know(s.Expect.Job)
	}
	for kind, f := range s.Stored.Files {
		body := []byte(f.Body)
		if strings.HasSuffix(kind, "Log") { // a scene's text cannot tell a relative time
			body = []byte(
				strings.ReplaceAll("\n"+f.Body, "\nlevel=", "\ntime=\""+f.Modified.UTC().Format(time.RFC3339)+"\" level=")[1:],
			)
		}
		if kind == "BackupContents" && f.Body == "" {
			body = make([]byte, 1024) // a tarball with nothing in it
		}
		d.store.PutText(store.Key{Job: s.Expect.Job, File: kind}, f.Modified, body)
	}
	return d.cluster.EnsureNamespaces()
}

func (d *Demo) log(pod *unstructured.Unstructured, told []scene.Line) {
	lines := make([]cluster.Line, len(told))
	for n, l := range told {
		lines[n] = cluster.Line(l)
	}
	d.cluster.Log(pod.GetNamespace(), pod.GetName(), lines...)
}

// storeRecorded stores what was recorded for a job, under the name that the job
// has in the demo.
func (d *Demo) storeRecorded(kind, recordedName, name string) {
	dir := path.Join("recordings/stored", kind, recordedName)
	files, err := fs.ReadDir(recorded, dir)
	if err != nil {
		return // nothing was recorded for it
	}
	for _, f := range files {
		content, err := fs.ReadFile(recorded, path.Join(dir, f.Name()))
		if err == nil {
			d.store.Put(
				store.Key{Job: kind + "/" + name, File: strings.TrimSuffix(f.Name(), ".gz")},
				d.options.Clock(),
				content,
			)
		}
	}
}
