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

// firstPageSize is the size of the first page, which quickly gives something to show, and a count.
const firstPageSize = 500

// maxItemsPerAnswer is the maximum number of objects requested in one answer. (1.36.3 with 10,000 restores: 0.9 s in
// one answer, 3.4 s in a stream.)
const maxItemsPerAnswer = 20_000

const maxItemBytes = maxEventBytes

// readAll reads the whole list into to, each object as it is decoded: neither the list nor a page of it is ever in
// memory. Elements that are not objects are left out: they have no name to be shown by. It returns the resource
// version from which a watch continues.
//
// A list that is longer than a page is read in one answer, out of the API server's cache, where each page would cost
// the server more than the one before. A list that is too long for one answer, or whose answer breaks off, is
// streamed as a watch that begins with all existing objects: no answer but a watch may take longer than a minute
// (kube-apiserver --request-timeout). From a server before 1.32, which cannot stream lists, it is read in pages.
func (r kindReader) readAll(ctx context.Context, to listSink) (version string, err error) {
	first, err := r.readPage(ctx, metav1.ListOptions{Limit: firstPageSize}, to)
	if err != nil || first.Continue == "" {
		return first.ResourceVersion, err
	}
	total := 0
	if n := first.RemainingItemCount; n != nil {
		total = firstPageSize + int(max(0, *n))
	}
	if total <= maxItemsPerAnswer {
		to.restartList(total)
		version, err = r.readAtOnce(ctx, first.ResourceVersion, to)
		if err == nil || ctx.Err() != nil || isCredentialsError(err) || apierrors.IsForbidden(err) ||
			apierrors.IsNotFound(err) {
			return version, err
		}
	}
	to.restartList(total)
	version, err = r.readStream(ctx, to)
	if cannotStream(err) && ctx.Err() == nil {
		to.restartList(total)
		version, err = r.readPages(ctx, firstPageSize, to)
	}
	return version, err
}

// readAtOnce reads the list in one answer. It adds ended jobs last: a reader waits for the running ones.
func (r kindReader) readAtOnce(ctx context.Context, version string, to listSink) (string, error) {
	late := &endedJobBuffer{kind: r.kind}
	page, err := r.readItems(
		ctx,
		metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		func(raw []byte) error {
			if late.keepIfEnded(raw) {
				return nil
			}
			return r.addItem(raw, to)
		},
	)
	for _, raw := range late.kept {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = r.addItem(raw, to)
		}
	}
	if err == nil && page.Continue != "" {
		err = fmt.Errorf("reading the list of %s: the answer is only a page", r.kind.resource)
	}
	return page.ResourceVersion, err
}

type endedJobBuffer struct {
	kind *kind
	kept [][]byte
	size int
}

const maxHeldBackBytes = 24 << 20 // how many bytes are held back at most: about ten thousand jobs

var phaseMember = []byte(`"phase":"`)

// keepIfEnded reports whether it kept an object. A wrong guess at the phase only changes when the object is added.
func (p *endedJobBuffer) keepIfEnded(raw []byte) bool {
	at := bytes.LastIndex(raw, phaseMember)
	if p.kind.toObservedJob == nil || at < 0 || p.size+len(raw) > maxHeldBackBytes {
		return false
	}
	phase, _, _ := bytes.Cut(raw[at+len(phaseMember):], []byte{'"'})
	if !velero.IsTerminalPhase(string(phase)) {
		return false
	}
	p.kept, p.size = append(p.kept, bytes.Clone(raw)), p.size+len(raw)
	return true
}

// cannotStream reports whether an error means that the API server cannot stream the list, or not to this user.
func cannotStream(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsMethodNotSupported(err) ||
		errors.Is(err, errNoListEnd)
}

// errNoListEnd means that a stream does not mark the end of the list. A proxy may drop the request's parameters that
// ask for the existing objects first and for a mark at their end.
var errNoListEnd = errors.New("the stream does not say where the list ends")

const streamSilenceTimeout = 20 * time.Second // how long a stream may be silent before the list's end

// readStream reads the list as the events with which a watch begins, up to the bookmark at its end (KEP-3157).
func (r kindReader) readStream(ctx context.Context, to listSink) (version string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(r.silenceTimeout, func() { cancel(errNoListEnd) })
	defer silence.Stop()
	version, err = r.readStreamEvents(ctx, to, func() { silence.Reset(r.silenceTimeout) })
	if err != nil && errors.Is(context.Cause(ctx), errNoListEnd) {
		err = fmt.Errorf("reading the list of %s: %w", r.kind.resource, errNoListEnd)
	}
	return version, err
}

func (r kindReader) readStreamEvents(ctx context.Context, to listSink, heard func()) (version string, err error) {
	yes := true
	body, err := r.buildRequest(&metav1.ListOptions{Watch: true, SendInitialEvents: &yes, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}).Stream(session.WithStreaming(ctx))
	if err != nil {
		return "", err
	}
	defer body.Close()
	events := newEventDecoder(body, r.decodeObject)
	for items := 0; ; items++ {
		kind, o, err := events.Decode()
		if items > session.MaxItems {
			err = errListTooLong
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", fmt.Errorf("reading the list of %s: %w", r.kind.resource, err)
		}
		object, _ := o.(*receivedObject)
		switch kind {
		case apiwatch.Added, apiwatch.Modified:
			heard()
			to.addObject(object)
		case apiwatch.Deleted:
			to.removeObject(object)
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

// readPages reads the list in pages of limit objects, where 0 is any size, or whole if a page's version has expired.
func (r kindReader) readPages(ctx context.Context, limit int64, to listSink) (version string, err error) {
	err = session.ReadPages(
		ctx,
		metav1.ListOptions{Limit: limit},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			page, err := r.readPage(ctx, o, to)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				to.restartList(0)
				page, err = r.readPage(ctx, metav1.ListOptions{}, to)
			}
			version = page.ResourceVersion
			return page.Continue, err
		},
	)
	return version, err
}

func (r kindReader) readPage(ctx context.Context, o metav1.ListOptions, to listSink) (metav1.ListMeta, error) {
	return r.readItems(ctx, o, func(raw []byte) error { return r.addItem(raw, to) })
}

// readItems reads one answer. It calls item with each element's JSON without field sets, valid until item returns.
func (r kindReader) readItems(
	ctx context.Context,
	o metav1.ListOptions,
	item func(raw []byte) error,
) (metav1.ListMeta, error) {
	body, err := r.buildRequest(&o).Stream(session.WithStreaming(ctx))
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
			return errListTooLong
		}
		return item(emptyFieldSets(raw))
	})
	if err == nil && page.ResourceVersion == "" {
		err = errNotAList
	}
	if err != nil {
		return page, fmt.Errorf("reading the list of %s: %w", r.kind.resource, err)
	}
	return page, nil
}

// addItem adds one element of a list. It skips an element that is not an object, which has no name to be shown by.
func (r kindReader) addItem(raw []byte, to listSink) error {
	object, err := r.decodeObject(raw)
	switch {
	case err == nil:
		to.addObject(object)
	case !json.Valid(raw):
		return fmt.Errorf("an element is no JSON: %w", err)
	}
	return nil
}

// errNotAList means that an answer is not a list: a proxy may answer anything with 200. If it were taken for an empty
// list, everything would disappear.
var errNotAList = errors.New("the answer is no list")

var errListTooLong = &session.IncompleteError{
	Reason: fmt.Sprintf("incomplete: the list has more than %d objects", session.MaxItems),
}

// readList calls item with the text of each element, valid until item returns: an object may be no JSON inside. It
// fails if the answer has no "items".
func readList(body io.Reader, item func(raw []byte) error) (meta metav1.ListMeta, err error) {
	limited := &itemReader{body, maxItemBytes}
	list := newJSONSplitter(limited)
	listed := false
	err = list.eachMember(func(name string) error {
		if name == "items" {
			listed = true
			return list.eachElement(func(raw []byte) error {
				limited.remaining = maxItemBytes
				return item(raw)
			})
		}
		raw, err := list.takeValue()
		if err == nil && name == "metadata" {
			err = json.Unmarshal(raw, &meta)
		}
		return err
	})
	if err == nil && !listed {
		err = errNotAList
	}
	return meta, err
}

// itemReader limits the number of bytes read for one element.
type itemReader struct {
	io.Reader
	remaining int
}

func (r *itemReader) Read(p []byte) (int, error) {
	if r.remaining <= 0 {
		return 0, &session.IncompleteError{
			Reason: fmt.Sprintf("incomplete: an element is longer than %d MiB", maxItemBytes>>20),
		}
	}
	n, err := r.Reader.Read(p)
	r.remaining -= n
	return n, err
}

var (
	fieldSet = []byte(`"fieldsV1":{`)
	// statusSet replaces a field set that includes the status: that a manager writes the status distinguishes work on
	// the object from a mere label.
	statusName, statusSet = []byte(`"f:status":`), []byte(`"f:status":{}`)
)

// emptyFieldSets empties the field sets in place, except for the status. Quotes within strings are escaped, so each
// match is a member's name.
func emptyFieldSets(raw []byte) []byte {
	kept, rest := raw[:0], raw
	for {
		at := bytes.Index(rest, fieldSet)
		if at < 0 {
			return append(kept, rest...)
		}
		begin := at + len(fieldSet)
		end := begin - 1 + objectLength(rest[begin-1:]) // computed before that text is overwritten
		// Check before the text is overwritten; the replacement is never longer than the original.
		ofStatus := end-begin > len(statusSet) && bytes.Contains(rest[begin:end], statusName)
		kept = append(kept, rest[:begin]...)
		if ofStatus {
			kept = append(kept, statusSet...)
		}
		kept, rest = append(kept, '}'), rest[end:]
	}
}

// objectLength returns the length of the JSON object at the start of the text.
func objectLength(text []byte) int {
	var scan valueScan
	scan.advance(text)
	return min(scan.length, len(text))
}
