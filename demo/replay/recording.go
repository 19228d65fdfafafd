package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

// Event is one recorded change of one object.
type Event struct {
	// At is the moment of the recording at which it was seen.
	At     time.Time
	Type   watch.EventType
	Object *unstructured.Unstructured
}

// Recording is what one watch saw, in its order.
type Recording struct {
	// Name is the folder it came from.
	Name   string
	Events []Event
}

// recordingFile is the file in which a watch was recorded.
const recordingFile = "watch.jsonl"

// Load reads all recordings at or below path: folders with a watch.jsonl, and
// folders of YAML snapshots, which are played in the order of their resource
// versions with interval between them. A folder with neither is passed over;
// none at all is an error, as is a recording that cannot be read whole.
func Load(path string, interval time.Duration) ([]Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading recordings: %w", err)
	}
	if !info.IsDir() {
		r, err := readWatch(path)
		return []Recording{r}, err
	}
	var recordings []Recording
	err = filepath.WalkDir(path, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		r, err := readFolder(dir, interval)
		if len(r.Events) > 0 {
			recordings = append(recordings, r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading recordings: %w", err)
	}
	if len(recordings) == 0 {
		return nil, fmt.Errorf("reading recordings: there is no %s and no snapshot of a Backup or Restore at or below %s", recordingFile, path)
	}
	return recordings, nil
}

func readFolder(dir string, interval time.Duration) (Recording, error) {
	r, err := readWatch(filepath.Join(dir, recordingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return readSnapshots(dir, interval)
	}
	return r, err
}

func readWatch(path string) (Recording, error) {
	r := Recording{Name: filepath.Dir(path)}
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(file)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			event, err := readEvent(text)
			if err != nil {
				return r, fmt.Errorf("%s, line %d: %w", path, number, err)
			}
			r.Events = append(r.Events, event)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(r.Events) == 0 {
		return r, fmt.Errorf("%s: no event in it", path)
	}
	return r, nil
}

func readEvent(line []byte) (Event, error) {
	var raw struct {
		T      json.Number     `json:"t"`
		Type   watch.EventType `json:"type"`
		Object map[string]any  `json:"object"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Event{}, err
	}
	at, err := parseSeconds(raw.T.String())
	if err != nil {
		return Event{}, err
	}
	switch raw.Type {
	case watch.Added, watch.Modified, watch.Deleted:
	default:
		return Event{}, fmt.Errorf("event of unknown type %q", raw.Type)
	}
	object, err := decode(raw.Object)
	return Event{At: at, Type: raw.Type, Object: object}, err
}

// parseSeconds reads seconds since 1970 with a fraction, exactly.
func parseSeconds(text string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("bad time %q", text)
	}
	fraction = (fraction + "000000000")[:9]
	nanos, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("bad time %q", text)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// decode turns decoded JSON into an object, with whole numbers as integers, as
// the API machinery wants them.
func decode(content map[string]any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if u.GetName() == "" {
		return nil, errors.New("an object without a name")
	}
	return u, nil
}

// readSnapshots reads the YAML files of one folder as states of one object or
// more, in the order in which the API server wrote them. Two that are the same
// state are one.
func readSnapshots(dir string, interval time.Duration) (Recording, error) {
	r := Recording{Name: dir}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return r, err
	}
	slices.Sort(files)
	var states []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return r, err
		}
		var content map[string]any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return r, fmt.Errorf("%s: %w", file, err)
		}
		if kind := fmt.Sprint(content["kind"]); kind != "Backup" && kind != "Restore" {
			continue
		}
		u, err := decode(content)
		if err != nil {
			return r, fmt.Errorf("%s: %w", file, err)
		}
		states = append(states, u)
	}
	slices.SortStableFunc(states, func(a, b *unstructured.Unstructured) int { return compareVersions(a, b) })
	states = slices.CompactFunc(states, func(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(a.Object, b.Object) })
	return Recording{Name: dir, Events: snapshotEvents(states, interval)}, nil
}

func compareVersions(a, b *unstructured.Unstructured) int {
	va, _ := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	vb, _ := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	switch {
	case va < vb:
		return -1
	case va > vb:
		return 1
	}
	return 0
}

func snapshotEvents(states []*unstructured.Unstructured, interval time.Duration) []Event {
	var events []Event
	seen := map[string]bool{}
	for n, u := range states {
		at := u.GetCreationTimestamp().Time
		if len(events) > 0 {
			at = events[0].At
		}
		kind := watch.Modified
		if key := keyOf(u); !seen[key] {
			seen[key], kind = true, watch.Added
		}
		events = append(events, Event{At: at.Add(time.Duration(n) * interval), Type: kind, Object: u})
	}
	return events
}

func keyOf(u *unstructured.Unstructured) string {
	return u.GroupVersionKind().String() + "/" + u.GetNamespace() + "/" + u.GetName()
}
