package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one recorded change of one object.
type Event struct {
	// At is when the change was seen, in the time of the recording.
	At     time.Time
	Type   watch.EventType
	Object *unstructured.Unstructured
}

// Recording holds the events of one watch, in order; it has at least one event.
type Recording struct {
	// Name is the folder of the recording.
	Name   string
	Events []Event
}

// recordingFile is the name of the file of a recorded watch; it may be compressed.
const recordingFile = "watch.jsonl"

// Load reads all recordings in a tree of folders, in the order of their names. It fails if there is no recording, or
// if one cannot be read in full.
func Load(tree fs.FS) ([]Recording, error) {
	var recordings []Recording
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.TrimSuffix(path.Base(name), ".gz") != recordingFile {
			return err
		}
		r, err := readRecording(tree, name)
		recordings = append(recordings, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading recordings: %w", err)
	}
	if len(recordings) == 0 {
		return nil, fmt.Errorf("reading recordings: there is no %s", recordingFile)
	}
	return recordings, nil
}

// MergeRecordings merges recordings that were made at the same time into one.
func MergeRecordings(recordings []Recording) Recording {
	var all Recording
	for _, r := range recordings {
		all.Events = append(all.Events, r.Events...)
	}
	slices.SortStableFunc(all.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	return all
}

func readRecording(tree fs.FS, name string) (Recording, error) {
	r := Recording{Name: path.Dir(name)}
	file, err := tree.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = file.Close() }()
	var text io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	lines := bufio.NewReader(text)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			event, err := readEvent(text)
			if err != nil {
				return r, fmt.Errorf("%s, line %d: %w", name, number, err)
			}
			r.Events = append(r.Events, event)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(r.Events) == 0 {
		return r, fmt.Errorf("%s: no event in it", name)
	}
	return r, nil
}

func readEvent(line []byte) (Event, error) {
	var raw struct {
		T      json.Number     `json:"t"`
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
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
	if raw.Object == nil {
		return Event{}, errors.New("an event without an object")
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw.Object); err != nil {
		return Event{}, err
	}
	if object.GetName() == "" || object.GetAPIVersion() == "" {
		return Event{}, errors.New("an object without a name or an apiVersion")
	}
	return Event{At: at, Type: raw.Type, Object: object}, nil
}

// parseSeconds parses seconds since 1970 with a fraction, exactly.
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
