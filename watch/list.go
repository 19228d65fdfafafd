package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// firstPage is asked for first: there is soon something to show, and a count.
const firstPage = 500

// mostAtOnce bounds one answer. (1.36.3 with 10,000 restores: 0.9 s in one answer, 3.4 s in a stream.)
const mostAtOnce = 20_000

const maxItem = maxEvent

// all reads the whole list into to, each object as it comes out of the answer: neither the list
// nor a page of it is ever in memory. Elements that are no objects are left out: they have no
// name to be shown by. It returns the version that a watch goes on from.
//
// A list that is longer than a page is read in one answer, out of the API server's cache, where each page would cost
// it more than the one before. One that is too long for that, or does not come to its end, is streamed as a watch
// that begins with all that there is: no answer but a watch may take longer than a minute (kube-apiserver
// --request-timeout). A server before 1.32 gives pages.
func (r reader) all(ctx context.Context, to listing) (version string, err error) {
	first, err := r.page(ctx, metav1.ListOptions{Limit: firstPage}, to)
	if err != nil || first.Continue == "" {
		return first.ResourceVersion, err
	}
	total := 0
	if n := first.RemainingItemCount; n != nil {
		total = firstPage + int(max(0, *n))
	}
	if total <= mostAtOnce {
		to.again(total)
		version, err = r.atOnce(ctx, first.ResourceVersion, to)
		if err == nil || ctx.Err() != nil || rejected(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return version, err
		}
	}
	to.again(total)
	version, err = r.stream(ctx, to)
	if cannotStream(err) && ctx.Err() == nil {
		to.again(total)
		version, err = r.pages(ctx, firstPage, to)
	}
	return version, err
}

// atOnce reads the list in one answer. Jobs that have ended come last: a reader waits for what runs.
func (r reader) atOnce(ctx context.Context, version string, to listing) (string, error) {
	late := &putOff{kind: r.kind}
	page, err := r.taking(
		ctx,
		metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		func(raw []byte) {
			if !late.keep(raw) {
				r.take(raw, to)
			}
		},
	)
	for _, raw := range late.kept {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			r.take(raw, to)
		}
	}
	if err == nil && page.Continue != "" {
		err = fmt.Errorf("reading the list of %s: the answer is only a page", r.kind.resource)
	}
	return page.ResourceVersion, err
}

type putOff struct {
	kind *kind
	kept [][]byte
	size int
}

const mostPutOff = 24 << 20 // how many bytes are kept back at most: those of ten thousand jobs

var phaseMember = []byte(`"phase":"`)

// keep reports whether it kept an object. A wrong guess at its phase only changes when the object is taken in.
func (p *putOff) keep(raw []byte) bool {
	at := bytes.LastIndex(raw, phaseMember)
	if p.kind.input == nil || at < 0 || p.size+len(raw) > mostPutOff {
		return false
	}
	phase, _, _ := bytes.Cut(raw[at+len(phaseMember):], []byte{'"'})
	if !velero.TerminalPhase(string(phase)) {
		return false
	}
	p.kept, p.size = append(p.kept, bytes.Clone(raw)), p.size+len(raw)
	return true
}

// cannotStream reports whether the API server has no streamed list, or none for us.
func cannotStream(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsMethodNotSupported(err) ||
		errors.Is(err, errNoEnd)
}

// errNoEnd: a proxy may leave out of a request that the watch is to begin with all and to say where that ends.
var errNoEnd = errors.New("the stream does not say where the list ends")

const streamPatience = 20 * time.Second // how long a stream may be silent before its end

// stream reads the list as the events with which a watch begins, up to the bookmark at its end (KEP-3157).
func (r reader) stream(ctx context.Context, to listing) (version string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(r.patience, func() { cancel(errNoEnd) })
	defer silence.Stop()
	version, err = r.streamed(ctx, to, func() { silence.Reset(r.patience) })
	if err != nil && errors.Is(context.Cause(ctx), errNoEnd) {
		err = fmt.Errorf("reading the list of %s: %w", r.kind.resource, errNoEnd)
	}
	return version, err
}

func (r reader) streamed(ctx context.Context, to listing, heard func()) (version string, err error) {
	yes := true
	body, err := r.request(&metav1.ListOptions{Watch: true, SendInitialEvents: &yes, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}).Stream(session.Streaming(ctx))
	if err != nil {
		return "", err
	}
	defer body.Close()
	events := newEventDecoder(body, r.object)
	for items := 0; ; items++ {
		kind, o, err := events.Decode()
		if items > session.MaxItems {
			err = errEndless
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", fmt.Errorf("reading the list of %s: %w", r.kind.resource, err)
		}
		object, _ := o.(*received)
		switch kind {
		case apiwatch.Added, apiwatch.Modified:
			heard()
			to.add(object)
		case apiwatch.Deleted:
			to.remove(object)
		case apiwatch.Bookmark:
			if object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
				continue
			}
			if object.GetResourceVersion() == "" {
				return "", fmt.Errorf("reading the list of %s: its end has no version", r.kind.resource)
			}
			return object.GetResourceVersion(), nil
		case apiwatch.Error:
			return "", apierrors.FromObject(o)
		}
	}
}

// pages reads the list by pages, of any size with 0, or whole if it changes too fast.
func (r reader) pages(ctx context.Context, limit int64, to listing) (version string, err error) {
	err = session.Pages(
		ctx,
		metav1.ListOptions{Limit: limit},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			page, err := r.page(ctx, o, to)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				to.again(0)
				page, err = r.page(ctx, metav1.ListOptions{}, to)
			}
			version = page.ResourceVersion
			return page.Continue, err
		},
	)
	return version, err
}

func (r reader) page(ctx context.Context, o metav1.ListOptions, to listing) (metav1.ListMeta, error) {
	return r.taking(ctx, o, func(raw []byte) { r.take(raw, to) })
}

// taking reads one answer. Item gets each element's JSON without field sets, which is only good until it returns.
func (r reader) taking(ctx context.Context, o metav1.ListOptions, item func(raw []byte)) (metav1.ListMeta, error) {
	body, err := r.request(&o).Stream(session.Streaming(ctx))
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer body.Close()
	items := 0
	page, err := readList(body, func(raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if items++; items > session.MaxItems {
			return errEndless
		}
		item(withoutFieldSets(raw))
		return nil
	})
	if err == nil && page.ResourceVersion == "" {
		err = errNoList
	}
	if err != nil {
		return page, fmt.Errorf("reading the list of %s: %w", r.kind.resource, err)
	}
	return page, nil
}

// take takes in one element of a list. One that is no object has no name to be shown by.
func (r reader) take(raw []byte, to listing) {
	if object, err := r.object(raw); err == nil {
		to.add(object)
	}
}

// errNoList: a proxy may answer anything with 200. Taken for an empty list, all would disappear.
var errNoList = errors.New("the answer is no list")

var errEndless = &session.IncompleteError{
	Reason: fmt.Sprintf("incomplete: the list has more than %d objects", session.MaxItems),
}

// readList gives item the JSON of each element, valid until it returns. Without items, even none, it fails.
func readList(body io.Reader, item func(raw []byte) error) (meta metav1.ListMeta, err error) {
	limited := &itemReader{body, maxItem}
	list := json.NewDecoder(limited)
	listed := false
	err = members(list, func(name string) error {
		switch name {
		case "metadata":
			return list.Decode(&meta)
		case "items":
			listed = true
			return elements(list, limited, item)
		}
		var ignored json.RawMessage
		return list.Decode(&ignored)
	})
	switch {
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case err == nil && !listed:
		err = errNoList
	}
	return meta, err
}

func members(d *json.Decoder, member func(name string) error) error {
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return cmp.Or(err, errNoList)
	}
	for d.More() {
		name, err := d.Token()
		if err == nil {
			err = member(name.(string))
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// elements reads an array, or null, as which Go writes an empty one.
func elements(d *json.Decoder, limited *itemReader, element func(raw []byte) error) error {
	token, err := d.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return errNoList
	}
	var raw json.RawMessage // used again for each element
	for d.More() {
		limited.left = maxItem
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if err := element(raw); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// itemReader limits what is read for one element.
type itemReader struct {
	io.Reader
	left int
}

func (r *itemReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, &session.IncompleteError{
			Reason: fmt.Sprintf("incomplete: an element is longer than %d MiB", maxItem>>20),
		}
	}
	n, err := r.Reader.Read(p)
	r.left -= n
	return n, err
}

var (
	fieldSet = []byte(`"fieldsV1":{`)
	// statusSet is what remains of a set with the status: that its manager writes it tells work from a label.
	statusName, statusSet = []byte(`"f:status":`), []byte(`"f:status":{}`)
)

// withoutFieldSets empties the field sets in place, but for the status. Quotes within texts are escaped: each match is
// a member's name.
func withoutFieldSets(raw []byte) []byte {
	kept, rest := raw[:0], raw
	for {
		at := bytes.Index(rest, fieldSet)
		if at < 0 {
			return append(kept, rest...)
		}
		begin := at + len(fieldSet)
		end := begin - 1 + objectEnd(rest[begin-1:]) // before what stands there is written over
		// Read before it is written over, and never longer than what stood there.
		ofStatus := end-begin > len(statusSet) && bytes.Contains(rest[begin:end], statusName)
		kept = append(kept, rest[:begin]...)
		if ofStatus {
			kept = append(kept, statusSet...)
		}
		kept, rest = append(kept, '}'), rest[end:]
	}
}

// objectEnd returns the length of the object at a text's start.
func objectEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
