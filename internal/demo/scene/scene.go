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

// Scene is the state of a cluster at one moment, with the expected judgement of one job in it.
type Scene struct {
	// Name is the situation in plain English.
	Name string
	// Source documents the situation: file and function of Velero.
	Source string
	// Expect is the expected judgement.
	Expect Expectation
	// Objects are the cluster's objects in the order of the file, as an API
	// server would show them; each has apiVersion, kind and name.
	Objects []*unstructured.Unstructured
	// Stored holds the object store's files for the job of Expect.
	Stored StoredFiles
	// Logs are the last lines of the server's log, oldest first. If nil, no log can be read.
	Logs []LogLine
	// PodLogs are the logs of other pods, by their names.
	PodLogs map[string][]LogLine
}

// Expectation is the judgement of one job. An empty field says nothing, but for
// Remedies: there, none named means that none may be offered.
type Expectation struct {
	// Job is "backup/NAME" or "restore/NAME".
	Job string `json:"job"`
	// AllowedStates holds the states of which any is right; "" is that of an ended job.
	AllowedStates []string `json:"state"`
	// ForbiddenStates holds states of which each is wrong.
	ForbiddenStates []string `json:"never"`
	// AllowedReasons holds the reasons of which any is right.
	AllowedReasons []string `json:"reason"`
	// Remedies are the actions that may be offered.
	Remedies []string `json:"remedies"`
	// Finalize is "refuse", or the phase that finalizing may write.
	Finalize string `json:"finalize"`
	// RequiredWords holds words that an explanation has to contain.
	RequiredWords []string `json:"says"`
}

// KindAndName returns the kind ("backup", "restore") and name of the job, both empty if the scene judges no job.
func (e Expectation) KindAndName() (kind, name string) {
	kind, name, _ = strings.Cut(e.Job, "/")
	return kind, name
}

// LogLine is one line of the server's log.
type LogLine struct {
	Time time.Time
	Text string
}

// sceneFile is a scene as it is written.
type sceneFile struct {
	Name    string            `json:"name"`
	Source  string            `json:"source"`
	Expect  Expectation       `json:"expect"`
	Objects []json.RawMessage `json:"objects"`
	Stored  json.RawMessage   `json:"stored"`
	Logs    []string          `json:"logs"`

	PodLogs map[string][]string `json:"podLogs"`
}

// maxSceneBytes is the maximum size of a scene file.
const maxSceneBytes = 16 << 20

// Load reads one scene and resolves its relative times at now. An unknown key, an object without a name, a duplicate
// object and an invalid time are errors.
func Load(r io.Reader, now time.Time) (*Scene, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSceneBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	if len(text) > maxSceneBytes {
		return nil, fmt.Errorf("reading the scene: it is larger than %d MB", maxSceneBytes>>20)
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	var f sceneFile
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return nil, fmt.Errorf("reading the scene: %w", err)
	}
	return f.buildScene(relativeClock{now})
}

func (f sceneFile) buildScene(c relativeClock) (*Scene, error) {
	s := &Scene{Name: f.Name, Source: f.Source, Expect: f.Expect}
	var err error
	if s.Objects, err = parseObjects(f.Objects, c); err != nil {
		return nil, err
	}
	if s.Stored, err = parseStoredFiles(f.Stored, c); err != nil {
		return nil, err
	}
	if s.Logs, err = parseLogs(f.Logs, c); err != nil {
		return nil, err
	}
	for pod, lines := range f.PodLogs {
		if s.PodLogs == nil {
			s.PodLogs = map[string][]LogLine{}
		}
		if s.PodLogs[pod], err = parseLogs(lines, c); err != nil {
			return nil, fmt.Errorf("podLogs of %s: %w", pod, err)
		}
	}
	if kind, name := f.Expect.KindAndName(); f.Expect.Job != "" && (kind != "backup" && kind != "restore" || name == "") {
		return nil, fmt.Errorf("expect.job %q is neither backup/NAME nor restore/NAME", f.Expect.Job)
	}
	if len(s.Stored.Files) > 0 && f.Expect.Job == "" {
		return nil, errors.New("stored needs expect.job: it is what the object store holds for that job")
	}
	return s, nil
}

func parseObjects(raw []json.RawMessage, c relativeClock) ([]*unstructured.Unstructured, error) {
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
		c.resolveTimes(u.Object)
		objects = append(objects, u)
	}
	return objects, nil
}
