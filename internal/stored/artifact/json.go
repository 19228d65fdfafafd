package artifact

import (
	"bytes"
	"cmp"
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

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
)

// The small artifacts are JSON that others wrote: fields may be missing, and every string is made harmless.

const (
	// maxParts is how many commas a document may have: each may stand for a value of far more memory than its byte.
	maxParts = 2_000_000
	// maxList is how many operations or volumes a list may have.
	maxList = 100_000
	// maxKinds is how many kinds a list of items may name: far more than any API server serves.
	maxKinds = 20_000
	// maxKept is how many items and namespaces are kept of a list of which only some kinds are wanted.
	maxKept = 300_000
	// maxValue is how many bytes of a document may be decoded at once: the results, or an element of a list.
	maxValue = 16 << 20
	// largeFrom is the size from which a document is read alone.
	largeFrom = 2 << 20
)

// load fetches a JSON artifact of a job and passes it to read, within Limits.Small.
func (f *Fetcher) load(ctx context.Context, target Target, read func(*json.Decoder) error) error {
	limit := f.options.Limits.Small
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: not complete after %s", ErrStalled, limit))
	defer cancel()
	text, err := f.openText(ctx, target, f.options.Limits.JSON)
	if err != nil {
		return f.explainLate(ctx, target, err)
	}
	defer text.Close()
	alone := &readAlone{ctx: ctx, text: text, turn: f.large}
	defer alone.release()
	if err := readJSON(alone, read); err != nil {
		return fmt.Errorf("reading %s of %s: %w", target.Kind, target.Name, err)
	}
	return nil
}

// explainLate says that the limit ended the fetch, which requests to the API server report in their own words.
func (f *Fetcher) explainLate(ctx context.Context, target Target, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrStalled) && !errors.Is(err, ErrStalled) {
		return fmt.Errorf("fetching %s of %s: %w", target.Kind, target.Name, cause)
	}
	return err
}

// readAlone waits for its turn before it reads on in a large document.
type readAlone struct {
	ctx  context.Context //nolint:containedctx // lives as long as one load
	text io.Reader
	turn chan struct{}
	read int
	held bool
}

func (r *readAlone) Read(p []byte) (int, error) {
	if r.read >= largeFrom && !r.held {
		select {
		case r.turn <- struct{}{}:
			r.held = true
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n, err := r.text.Read(p)
	r.read += n
	return n, err
}

func (r *readAlone) release() {
	if r.held {
		<-r.turn
	}
}

// readJSON reads one JSON value and nothing after it. No error quotes what a terminal must not print.
func readJSON(r io.Reader, read func(*json.Decoder) error) error {
	commas, total := 0, int64(0)
	var d *json.Decoder
	d = json.NewDecoder(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		// What the decoder was given and has not passed is held in memory.
		if total += int64(n); total-d.InputOffset() > maxValue {
			return 0, fmt.Errorf("%w: a value in it has more than %d bytes", ErrTooLarge, maxValue)
		}
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

// resourceList is the artifact as stored: "v1/Pod" to "ns/name" or "ns/name(created)". It is read name by name.
type resourceList struct {
	restore    bool
	wanted     func(kind string) bool // nil for all
	sorted     []Resources
	namespaces map[string]bool // of the items of other kinds
	kept       int
}

func (l *resourceList) read(d *json.Decoder) error {
	l.namespaces = map[string]bool{}
	byKind := map[string]int{} // index in sorted
	err := eachToken(d, '{', func() error {
		name, err := d.Token()
		kind, ok := name.(string)
		if err != nil || !ok {
			return cmp.Or(err, errNotVelero)
		}
		kind = sanitize.String(kind)
		at, known := byKind[kind]
		if !known {
			if len(byKind) == maxKinds {
				return fmt.Errorf("%w: it has more than %d kinds", ErrTooLarge, maxKinds)
			}
			at, byKind[kind] = len(l.sorted), len(l.sorted)
			l.sorted = append(l.sorted, Resources{Kind: kind, Items: []Resource{}})
		}
		wanted := l.wanted == nil || l.wanted(kind)
		return eachToken(d, '[', func() error {
			item, err := d.Token()
			entry, ok := item.(string)
			if err != nil || !ok {
				return cmp.Or(err, errNotVelero)
			}
			return l.add(&l.sorted[at], parseResource(sanitize.String(entry), l.restore), wanted)
		})
	})
	if err != nil {
		return err
	}
	if l.wanted != nil {
		l.sorted = slices.DeleteFunc(l.sorted, func(r Resources) bool { return !l.wanted(r.Kind) })
		l.sorted = append(l.sorted, Resources{Items: namespacesOnly(l.namespaces)})
	}
	slices.SortFunc(l.sorted, func(a, b Resources) int { return strings.Compare(a.Kind, b.Kind) })
	return nil
}

func (l *resourceList) add(to *Resources, r Resource, wanted bool) error {
	switch {
	case wanted:
		to.Items = append(to.Items, r)
	case r.Namespace == "" || l.namespaces[r.Namespace]:
		return nil
	default:
		l.namespaces[strings.Clone(r.Namespace)] = true
	}
	if l.kept++; l.wanted != nil && l.kept > maxKept {
		return fmt.Errorf("%w: it has more than %d items of these kinds", ErrTooLarge, maxKept)
	}
	return nil
}

func namespacesOnly(names map[string]bool) (items []Resource) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		items = append(items, Resource{Namespace: name})
	}
	return items
}

var errNotVelero = errors.New("it is not the JSON that Velero writes")

// eachToken reads an object or a list, which may be null; read takes each of its elements.
func eachToken(d *json.Decoder, opening json.Delim, read func() error) error {
	start, err := d.Token()
	switch {
	case err != nil || start == nil:
		return err
	case start != opening:
		return errNotVelero
	}
	for d.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
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
	return f.ResourcesOf(ctx, kind, name, nil)
}

// ResourcesOf fetches the items of the kinds that are wanted. Of all other items only the namespaces are kept, under no
// kind and without a name: a backup has far more items than anything needs at once.
func (f *Fetcher) ResourcesOf(
	ctx context.Context,
	kind job.Kind,
	name string,
	wanted func(kind string) bool,
) ([]Resources, error) {
	list := resourceList{restore: kind == job.Restore, wanted: wanted}
	target := targetOf(
		kind,
		name,
		velerov1.DownloadTargetKindBackupResourceList,
		velerov1.DownloadTargetKindRestoreResourceList,
	)
	if err := f.load(ctx, target, list.read); err != nil {
		return nil, err
	}
	return list.sorted, nil
}
