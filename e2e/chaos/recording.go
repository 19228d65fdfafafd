package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// EntryKind says what an entry of a recording holds.
type EntryKind string

// The kinds.
const (
	// StoryEntry is the first of a recording: what is going to happen.
	StoryEntry EntryKind = "story"
	// BeginEntry and EndEntry enclose the time that is judged.
	BeginEntry EntryKind = "begin"
	EndEntry   EntryKind = "end"
	// ObjectEntry is an event of a watch.
	ObjectEntry EntryKind = "object"
	// LogEntry is a line that a pod logged.
	LogEntry EntryKind = "log"
	// HeartbeatEntry is a quorum read that the API server answered while every watch
	// was connected.
	HeartbeatEntry EntryKind = "beat"
	// FaultEntry is a fault that begins or ends.
	FaultEntry EntryKind = "fault"
	// DeathEntry says that a job is dead from now on.
	DeathEntry EntryKind = "fate"
	// EditEntry is a change of a job that a person made, by its resource version.
	EditEntry EntryKind = "edit"
	// RepairEntry is what a person had to do: jobs go on after it, but not by
	// themselves. It concerns one job, or all where it names none.
	RepairEntry EntryKind = "repair"
	// FailureEntry is a step of the story that could not be carried out.
	FailureEntry EntryKind = "failure"
)

// Entry is one line of a recording.
type Entry struct {
	At   time.Time
	Kind EntryKind
	// Type and Object are those of a watch event.
	Type   watch.EventType
	Object *unstructured.Unstructured
	// Pod is the one that logged Text, as NAMESPACE/NAME.
	Pod string
	// Text is a line of a log, or what happened in words.
	Text string
	// Job is BACKUP/NAME or RESTORE/NAME in lower case.
	Job string
	// Version is a resource version.
	Version string
	Death   *Death
	Story   *Story
}

// Death is a job that is dead: Velero does not go on with it unless a person
// helps.
type Death struct {
	// Job is KIND/NAME in lower case.
	Job string `json:"job"`
	// Cause is the kind of fault.
	Cause Cause `json:"cause"`
	// DetectableAfter is how long after the fault nothing is left to wait for, by Velero's
	// source and the flags of the run.
	DetectableAfter time.Duration `json:"after"`
	// Source is the file and function that says so.
	Source string `json:"source"`
}

type entryLine struct {
	T       float64         `json:"t"`
	Kind    EntryKind       `json:"kind"`
	Type    watch.EventType `json:"type,omitempty"`
	Object  map[string]any  `json:"object,omitempty"`
	Pod     string          `json:"pod,omitempty"`
	Text    string          `json:"text,omitempty"`
	Job     string          `json:"job,omitempty"`
	Version string          `json:"version,omitempty"`
	Death   *Death          `json:"fate,omitempty"`
	Story   *Story          `json:"story,omitempty"`
}

// MarshalJSON writes the time in seconds since 1970.
func (e Entry) MarshalJSON() ([]byte, error) {
	l := entryLine{T: float64(e.At.UnixMicro()) / 1e6, Kind: e.Kind, Type: e.Type, Pod: e.Pod, Text: e.Text, Job: e.Job,
		Version: e.Version, Death: e.Death, Story: e.Story}
	if e.Object != nil {
		l.Object = e.Object.Object
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var l entryLine
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	*e = Entry{
		At:      time.UnixMicro(int64(l.T * 1e6)).UTC(),
		Kind:    l.Kind,
		Type:    l.Type,
		Pod:     l.Pod,
		Text:    l.Text,
		Job:     l.Job,
		Version: l.Version,
		Death:   l.Death,
		Story:   l.Story,
	}
	if l.Object == nil {
		return nil
	}
	// Numbers have to be those of the API machinery, not of encoding/json.
	raw, err := json.Marshal(l.Object)
	if err != nil {
		return err
	}
	e.Object = &unstructured.Unstructured{}
	return e.Object.UnmarshalJSON(raw)
}

// RecordingWriter writes a recording. It may be used by several goroutines; entries have
// the time at which they are written.
type RecordingWriter struct {
	mu   sync.Mutex
	file *os.File
	zip  *gzip.Writer
	json *json.Encoder
	err  error
}

// CreateRecording begins a recording.
func CreateRecording(path string) (*RecordingWriter, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating the recording: %w", err)
	}
	zip := gzip.NewWriter(file)
	encoder := json.NewEncoder(zip)
	encoder.SetEscapeHTML(false)
	return &RecordingWriter{file: file, zip: zip, json: encoder}, nil
}

// AddEntry writes an entry. The first error is returned by Close.
func (w *RecordingWriter) AddEntry(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.At = time.Now()
	if w.err == nil {
		w.err = w.json.Encode(e)
	}
}

// Close ends the recording and returns the first error of all.
func (w *RecordingWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.err, w.zip.Close(), w.file.Close()); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

// ReadRecording reads a recording. One that ends early, because its run was killed, is
// returned with an error.
func ReadRecording(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading the recording: %w", err)
	}
	var entries []Entry
	for decoder := json.NewDecoder(bufio.NewReaderSize(zip, 1<<20)); ; {
		var e Entry
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return entries, fmt.Errorf("reading entry %d of the recording: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
}
