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

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The small artifacts are JSON that others wrote: fields may be missing, and every string is sanitized.

const (
	// maxCommas is how many commas a document may have: each may stand for a value that needs far more memory than its
	// byte.
	maxCommas = 2_000_000
	// maxListLength is how many operations or volumes a list may have.
	maxListLength = 100_000
	// maxKinds is how many kinds a list of items may name: far more than any API server serves.
	maxKinds = 20_000
	// maxKeptItems is how many items and namespaces are kept of a list from which only some kinds are wanted.
	maxKeptItems = 300_000
	// maxValueBytes is how many bytes of a document may be decoded at once: the results, or an element of a list.
	maxValueBytes = 16 << 20
	// largeJSONBytes is the size from which only one document is read at a time.
	largeJSONBytes = 2 << 20
)

// fetchJSON fetches a JSON artifact of a job and passes it to read, within Limits.JSONTimeout.
func (f *Fetcher) fetchJSON(ctx context.Context, target Target, read func(*json.Decoder) error) error {
	limit := f.options.Limits.JSONTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: not complete after %s", ErrStalled, limit))
	defer cancel()
	text, err := f.openText(ctx, target, f.options.Limits.JSONBytes)
	if err != nil {
		return f.explainTimeout(ctx, target, err)
	}
	defer text.Close()
	alone := &turnReader{ctx: ctx, text: text, turn: f.largeJSONToken}
	defer alone.releaseTurn()
	if err := readJSON(alone, read); err != nil {
		return fmt.Errorf("reading %s of %s: %w", target.Kind, target.Name, err)
	}
	return nil
}

// explainTimeout returns the error that the limit ended the fetch, which requests to the API server report in their own
// words.
func (f *Fetcher) explainTimeout(ctx context.Context, target Target, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrStalled) && !errors.Is(err, ErrStalled) {
		return fmt.Errorf("fetching %s of %s: %w", target.Kind, target.Name, cause)
	}
	return err
}

// turnReader waits for its turn before it continues to read a large document.
type turnReader struct {
	ctx     context.Context //nolint:containedctx // lives as long as one load
	text    io.Reader
	turn    chan struct{}
	read    int
	hasTurn bool
}

func (r *turnReader) Read(p []byte) (int, error) {
	if r.read >= largeJSONBytes && !r.hasTurn {
		select {
		case r.turn <- struct{}{}:
			r.hasTurn = true
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n, err := r.text.Read(p)
	r.read += n
	return n, err
}

func (r *turnReader) releaseTurn() {
	if r.hasTurn {
		<-r.turn
	}
}

// readJSON reads exactly one JSON value. Its errors do not quote what a terminal must not print.
func readJSON(r io.Reader, read func(*json.Decoder) error) error {
	commas, total := 0, int64(0)
	var d *json.Decoder
	d = json.NewDecoder(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		// What the decoder has read but not yet consumed is held in memory.
		if total += int64(n); total-d.InputOffset() > maxValueBytes {
			return 0, fmt.Errorf("%w: a value in it has more than %d bytes", ErrTooLarge, maxValueBytes)
		}
		if commas += bytes.Count(p[:n], []byte{','}); commas > maxCommas {
			return 0, fmt.Errorf("%w: it has more than %d parts", ErrTooLarge, maxCommas)
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
		return errors.New("it is not the JSON that Velero writes: " + sanitize.Truncate(err.Error(), 200))
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
			if len(*list) == maxListLength {
				return fmt.Errorf("%w: it has more than %d elements", ErrTooLarge, maxListLength)
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

func newTarget(kind job.Kind, name string, backup, restore veleroapi.DownloadTargetKind) Target {
	if kind == job.Restore {
		return Target{Kind: restore, Name: name}
	}
	return Target{Kind: backup, Name: name}
}

// lenientTime is a time that may be missing or unreadable; an unreadable time counts as missing.
type lenientTime struct{ time.Time }

func (m *lenientTime) UnmarshalJSON(text []byte) error {
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

// AllMessages returns all messages; Velero counts them in a job's status.
func (m Messages) AllMessages() []string {
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

func (r *Results) decodeFrom(d *json.Decoder) error {
	err := d.Decode(r)
	sanitize.Object(r)
	return err
}

func (f *Fetcher) FetchResults(ctx context.Context, kind job.Kind, name string) (results Results, err error) {
	target := newTarget(kind, name, veleroapi.DownloadTargetKindBackupResults, veleroapi.DownloadTargetKindRestoreResults)
	err = f.fetchJSON(ctx, target, results.decodeFrom)
	return results, err
}

// KindItems are the items of one kind that a job worked on.
type KindItems struct {
	// Kind is group/version/Kind, or version/Kind in the core group.
	Kind  string
	Items []ItemEntry
}

type ItemEntry struct {
	Namespace string // empty for a cluster-scoped item
	Name      string
	// Action is what a restore did with the item: created, updated, skipped or failed; empty in a backup's list.
	Action string
}

// resourceList reads the artifact as stored, which maps "v1/Pod" to "ns/name" or "ns/name(created)", name by name.
type resourceList struct {
	restore    bool
	wanted     func(kind string) bool // nil for all
	sorted     []KindItems
	namespaces map[string]bool // the namespaces of items of other kinds
	kept       int
}

func (l *resourceList) decodeFrom(d *json.Decoder) error {
	l.namespaces = map[string]bool{}
	byKind := map[string]int{} // index in sorted
	err := eachElement(d, '{', func() error {
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
			l.sorted = append(l.sorted, KindItems{Kind: kind, Items: []ItemEntry{}})
		}
		wanted := l.wanted == nil || l.wanted(kind)
		return eachElement(d, '[', func() error {
			item, err := d.Token()
			entry, ok := item.(string)
			if err != nil || !ok {
				return cmp.Or(err, errNotVelero)
			}
			return l.addItem(&l.sorted[at], parseItemEntry(sanitize.String(entry), l.restore), wanted)
		})
	})
	if err != nil {
		return err
	}
	if l.wanted != nil {
		l.sorted = slices.DeleteFunc(l.sorted, func(r KindItems) bool { return !l.wanted(r.Kind) })
		l.sorted = append(l.sorted, KindItems{Items: namespacesOnly(l.namespaces)})
	}
	slices.SortFunc(l.sorted, func(a, b KindItems) int { return strings.Compare(a.Kind, b.Kind) })
	return nil
}

func (l *resourceList) addItem(to *KindItems, r ItemEntry, wanted bool) error {
	switch {
	case wanted:
		to.Items = append(to.Items, r)
	case r.Namespace == "" || l.namespaces[r.Namespace]:
		return nil
	default:
		l.namespaces[strings.Clone(r.Namespace)] = true
	}
	if l.kept++; l.wanted != nil && l.kept > maxKeptItems {
		return fmt.Errorf("%w: it has more than %d items of these kinds", ErrTooLarge, maxKeptItems)
	}
	return nil
}

func namespacesOnly(names map[string]bool) (items []ItemEntry) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		items = append(items, ItemEntry{Namespace: name})
	}
	return items
}

var errNotVelero = errors.New("it is not the JSON that Velero writes")

// eachElement reads an object or a list, which may be null; read reads each of its elements.
func eachElement(d *json.Decoder, opening json.Delim, read func() error) error {
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

// restoreActions are what a restore may have done with an item (pkg/restore/request.go).
var restoreActions = []string{"created", "updated", "failed", "skipped"}

func parseItemEntry(entry string, restore bool) ItemEntry {
	r := ItemEntry{Name: entry}
	if restore {
		// RBAC names may contain parentheses: only the last pair counts.
		at := strings.LastIndexByte(entry, '(')
		if at >= 0 && strings.HasSuffix(entry, ")") && slices.Contains(restoreActions, entry[at+1:len(entry)-1]) {
			r.Name, r.Action = entry[:at], entry[at+1:len(entry)-1]
		}
	}
	if namespace, name, ok := strings.Cut(r.Name, "/"); ok {
		r.Namespace, r.Name = namespace, name
	}
	return r
}

// FetchResourceList fetches the items that a job worked on, sorted by kind.
func (f *Fetcher) FetchResourceList(ctx context.Context, kind job.Kind, name string) ([]KindItems, error) {
	return f.FetchItemsOfKinds(ctx, kind, name, nil)
}

// FetchItemsOfKinds fetches the items of the wanted kinds. Of all other items, it keeps only the namespaces, under no
// kind and without a name: a backup has far more items than anything needs at once.
func (f *Fetcher) FetchItemsOfKinds(
	ctx context.Context,
	kind job.Kind,
	name string,
	wanted func(kind string) bool,
) ([]KindItems, error) {
	list := resourceList{restore: kind == job.Restore, wanted: wanted}
	target := newTarget(
		kind,
		name,
		veleroapi.DownloadTargetKindBackupResourceList,
		veleroapi.DownloadTargetKindRestoreResourceList,
	)
	if err := f.fetchJSON(ctx, target, list.decodeFrom); err != nil {
		return nil, err
	}
	return list.sorted, nil
}
