package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

// The small artifacts are JSON that others wrote: fields may be missing, and every string is made harmless.

const (
	// maxParts is how many commas a document may have: each may stand for a value of far more memory than its byte.
	maxParts = 2_000_000
	// maxList is how many operations or volumes a list may have.
	maxList = 100_000
)

// load fetches a JSON artifact of a job and passes it to read.
func (f *Fetcher) load(ctx context.Context, target Target, read func(*json.Decoder) error) error {
	text, err := f.openText(ctx, target, f.options.Limits.JSON)
	if err != nil {
		return err
	}
	defer text.Close()
	if err := readJSON(text, read); err != nil {
		return fmt.Errorf("reading %s of %s: %w", target.Kind, target.Name, err)
	}
	return nil
}

// readJSON reads one JSON value and nothing after it. No error quotes what a terminal must not print.
func readJSON(r io.Reader, read func(*json.Decoder) error) error {
	commas := 0
	d := json.NewDecoder(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if commas += bytes.Count(p[:n], []byte{','}); commas > maxParts {
			return 0, fmt.Errorf("%w: it has more than %d parts", ErrTooLarge, maxParts)
		}
		return n, err
	}))
	err := read(d)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if _, syntax := errors.AsType[*json.SyntaxError](err); syntax || err == nil {
			err = errors.New("it continues after its end")
		}
		return err
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it ends too early: %w", io.ErrUnexpectedEOF)
	case syntax, wrongType:
		return errors.New("it is not the JSON that Velero writes: " + sanitize.Cut(err.Error(), 200))
	}
	return err
}

// readList reads a list, or null, one element at a time.
func readList[S, T any](list *[]T, convert func(*S) T) func(*json.Decoder) error {
	return func(d *json.Decoder) error {
		start, err := d.Token()
		switch {
		case err != nil || start == nil:
			return err
		case start != json.Delim('['):
			return errors.New("it is not the JSON that Velero writes: it is not a list")
		}
		for d.More() {
			if len(*list) == maxList {
				return fmt.Errorf("%w: it has more than %d elements", ErrTooLarge, maxList)
			}
			var stored S
			if err := d.Decode(&stored); err != nil {
				return err
			}
			one := convert(&stored)
			sanitize.Object(&one)
			*list = append(*list, one)
		}
		_, err = d.Token()
		return err
	}
}

func targetOf(kind job.Kind, name string, backup, restore velerov1.DownloadTargetKind) Target {
	if kind == job.Restore {
		return Target{Kind: restore, Name: name}
	}
	return Target{Kind: backup, Name: name}
}

// moment is a time that may be missing or unreadable, which is as good.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(text []byte) error {
	var t time.Time
	if t.UnmarshalJSON(text) == nil {
		m.Time = t
	}
	return nil
}

// Messages are the warnings or the errors of one job.
type Messages struct {
	// Velero are about the run itself, Cluster about what has no namespace, Namespaces about the rest.
	Velero     []string            `json:"velero"`
	Cluster    []string            `json:"cluster"`
	Namespaces map[string][]string `json:"namespaces"`
}

// All are all of them; Velero counts them in a job's status.
func (m Messages) All() []string {
	all := slices.Concat(m.Velero, m.Cluster)
	for _, list := range m.Namespaces {
		all = append(all, list...)
	}
	return all
}

// Results are the warnings and errors of a job (pkg/util/results/result.go).
type Results struct {
	Warnings Messages `json:"warnings"`
	Errors   Messages `json:"errors"`
}

func (r *Results) read(d *json.Decoder) error {
	err := d.Decode(r)
	sanitize.Object(r)
	return err
}

func (f *Fetcher) Results(ctx context.Context, kind job.Kind, name string) (results Results, err error) {
	target := targetOf(kind, name, velerov1.DownloadTargetKindBackupResults, velerov1.DownloadTargetKindRestoreResults)
	err = f.load(ctx, target, results.read)
	return results, err
}

// Resources are the items of one kind that a job worked on.
type Resources struct {
	// Kind is group/version/Kind, or version/Kind in the core group.
	Kind  string
	Items []Resource
}

type Resource struct {
	Namespace string // empty for what has none
	Name      string
	// Action is what a restore did: created, updated, skipped or failed; empty in a backup's list.
	Action string
}

// resourceList is the artifact as stored: "v1/Pod" to "ns/name" or "ns/name(created)".
type resourceList struct {
	restore bool
	sorted  []Resources
}

func (l *resourceList) read(d *json.Decoder) error {
	var byKind map[string][]string
	if err := d.Decode(&byKind); err != nil {
		return err
	}
	sanitize.Object(&byKind)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		r := Resources{Kind: kind, Items: make([]Resource, 0, len(byKind[kind]))}
		for _, entry := range byKind[kind] {
			r.Items = append(r.Items, parseResource(entry, l.restore))
		}
		l.sorted = append(l.sorted, r)
	}
	return nil
}

// actions are what a restore may have done with an item (pkg/restore/request.go).
var actions = []string{"created", "updated", "failed", "skipped"}

func parseResource(entry string, restore bool) Resource {
	r := Resource{Name: entry}
	if restore {
		// RBAC names may have brackets of their own: only the last pair counts.
		at := strings.LastIndexByte(entry, '(')
		if at >= 0 && strings.HasSuffix(entry, ")") && slices.Contains(actions, entry[at+1:len(entry)-1]) {
			r.Name, r.Action = entry[:at], entry[at+1:len(entry)-1]
		}
	}
	if namespace, name, ok := strings.Cut(r.Name, "/"); ok {
		r.Namespace, r.Name = namespace, name
	}
	return r
}

// ResourceList fetches what a job worked on, sorted by kind.
func (f *Fetcher) ResourceList(ctx context.Context, kind job.Kind, name string) ([]Resources, error) {
	list := resourceList{restore: kind == job.Restore}
	target := targetOf(kind, name, velerov1.DownloadTargetKindBackupResourceList, velerov1.DownloadTargetKindRestoreResourceList)
	err := f.load(ctx, target, list.read)
	return list.sorted, err
}
