package scene

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Scene is a cluster at one moment, and what is right to say about one job in it.
type Scene struct {
	// Name is the situation in plain English.
	Name string
	// Source says why it is so: file and function of Velero.
	Source string
	// Expect is what is right and wrong to say.
	Expect Expect
	// Objects are the cluster's objects in the order of the file, as an API
	// server would show them; each has apiVersion, kind and name.
	Objects []*unstructured.Unstructured
	// Stored is what the object store holds for the job of Expect.
	Stored Stored
	// Logs are the last lines of the server's log, oldest first. Nil: no log can
	// be read.
	Logs []Line
	// PodLogs are the logs of other pods, by their names.
	PodLogs map[string][]Line
}

// Expect is the judgement of one job. An empty field says nothing, but for
// Remedies: there, none named means that none may be offered.
type Expect struct {
	// Job is "backup/NAME" or "restore/NAME".
	Job string `json:"job"`
	// State holds the states of which any is right; "" is that of an ended job.
	State []string `json:"state"`
	// Never holds states of which each is wrong.
	Never []string `json:"never"`
	// Reason holds the reasons of which any is right.
	Reason []string `json:"reason"`
	// Remedies are the actions that may be offered.
	Remedies []string `json:"remedies"`
	// Finalize is "refuse", or the phase that finalizing may write.
	Finalize string `json:"finalize"`
	// Says holds words that an explanation has to contain.
	Says []string `json:"says"`
}

// Target is the kind ("backup", "restore") and name of the job; both are empty
// where the scene judges none.
func (e Expect) Target() (kind, name string) {
	kind, name, _ = strings.Cut(e.Job, "/")
	return kind, name
}

// Line is one line of the server's log.
type Line struct {
	Time time.Time
	Text string
}

// file is a scene as it is written.
type file struct {
	Name    string            `json:"name"`
	Source  string            `json:"source"`
	Expect  Expect            `json:"expect"`
	Objects []json.RawMessage `json:"objects"`
	Stored  json.RawMessage   `json:"stored"`
	Logs    []string          `json:"logs"`

	PodLogs map[string][]string `json:"podLogs"`
}

// maxBytes bounds what is read of a scene.
const maxBytes = 16 << 20

// Load reads one scene and turns its relative times into those that they are
// at now. An unknown key, an object without a name, an object that is there
// twice and a time that cannot be read are errors.
func Load(r io.Reader, now time.Time) (*Scene, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("reading the scene: it is larger than %d MB", maxBytes>>20)
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	var f file
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	return f.scene(clock{now})
}

func (f file) scene(c clock) (*Scene, error) {
	s := &Scene{Name: f.Name, Source: f.Source, Expect: f.Expect}
	var err error
	if s.Objects, err = readObjects(f.Objects, c); err != nil {
		return nil, err
	}
	if s.Stored, err = readStored(f.Stored, c); err != nil {
		return nil, err
	}
	if s.Logs, err = readLogs(f.Logs, c); err != nil {
		return nil, err
	}
	for pod, lines := range f.PodLogs {
		if s.PodLogs == nil {
			s.PodLogs = map[string][]Line{}
		}
		if s.PodLogs[pod], err = readLogs(lines, c); err != nil {
			return nil, fmt.Errorf("podLogs of %s: %w", pod, err)
		}
	}
	if kind, name := f.Expect.Target(); f.Expect.Job != "" && (kind != "backup" && kind != "restore" || name == "") {
		return nil, fmt.Errorf("expect.job %q is neither backup/NAME nor restore/NAME", f.Expect.Job)
	}
	if len(s.Stored.Files) > 0 && f.Expect.Job == "" {
		return nil, errors.New("stored needs expect.job: it is what the object store holds for that job")
	}
	return s, nil
}

func readObjects(raw []json.RawMessage, c clock) ([]*unstructured.Unstructured, error) {
	if len(raw) == 0 {
		return nil, errors.New("the scene has no objects")
	}
	seen := map[string]bool{}
	objects := make([]*unstructured.Unstructured, 0, len(raw))
	for n, text := range raw {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("object %d: %w", n+1, err)
		}
		key := u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
		switch {
		case u.GetAPIVersion() == "" || u.GetName() == "":
			return nil, fmt.Errorf("object %d: it has no apiVersion or no name", n+1)
		case seen[key]:
			return nil, fmt.Errorf("object %d: %s is there twice", n+1, key)
		}
		seen[key] = true
		c.resolve(u.Object)
		objects = append(objects, u)
	}
	return objects, nil
}
