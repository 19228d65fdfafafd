package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Options configure a [Reader].
type Options struct {
	Config      *rest.Config     // Config leads to the API server. It is copied, not changed.
	Parallelism int              // how many lists are read at once; 0 means four
	IdleTimeout time.Duration    // how long a request may stay without any data; 0 means 30 seconds
	PageSize    int64            // how many objects are requested at once; 0 means 500
	Clock       func() time.Time // our own clock; nil means time.Now
	Log         *slog.Logger     // Log receives what could not be checked; nil discards it
}

// Reader reads from one cluster.
type Reader struct {
	Options
	meter  *session.Meter
	client *client.Client
}

// New makes a Reader; it does not talk to the cluster.
func New(o Options) (*Reader, error) {
	o.Parallelism = cmp.Or(o.Parallelism, 4)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	o.PageSize = cmp.Or(o.PageSize, 500)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Clock == nil {
		o.Clock = time.Now
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // a long answer is not silence
	r := &Reader{Options: o, meter: session.NewMeter(o.Clock)}
	over, err := session.HTTPClient(config, session.TransportOptions{Meter: r.meter, SilenceTimeout: o.IdleTimeout})
	if err != nil {
		return nil, err
	}
	if r.client, err = client.New(config, over, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// Cost is how much was requested of the API server so far.
type Cost struct {
	Requests int
	Bytes    int64 // of the answers, after decompression
}

// RequestCost returns how much was requested of the API server so far.
func (r *Reader) RequestCost() Cost {
	requests, bytes := r.meter.Totals()
	return Cost{requests, bytes}
}

// ServedKinds is what a cluster serves.
type ServedKinds struct {
	ResourceLists []*metav1.APIResourceList // as client-go's ServerPreferredResources returns them
	SilentReasons map[string]string         // groups that did not list their kinds, with why; those kinds are unknown
	kinds         map[string]servedKind     // by resource
	version       [2]int                    // the version of Kubernetes, zero if unknown
	statusKept    map[string]bool           // the resources with a subresource for their status, nil if unknown
}

type servedKind struct {
	schema.GroupVersionResource
	namespaced bool
}

// IsServed reports whether a resource, as "deployments.apps", is served, and whether that is known.
func (s *ServedKinds) IsServed(resource string) (serves, known bool) {
	if _, ok := s.kinds[resource]; ok {
		return true, true
	}
	_, group, _ := strings.Cut(resource, ".")
	_, silent := s.SilentReasons[group]
	return false, !silent
}

// FetchServedKinds asks the cluster for the kinds that it serves. It fails if the cluster lists none at all.
func (r *Reader) FetchServedKinds(ctx context.Context) (*ServedKinds, error) {
	kinds, err := r.client.DiscoverKinds(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("asking the cluster for its kinds: %w", sanitizedError(err))
	}
	s := NewServedKinds(kinds.PreferredResources()...)
	s.SetSubresources(kinds.ResourceLists...)
	for group, why := range kinds.Unanswered {
		s.SilentReasons[group.Group] = errorText(why)
	}
	if info, err := r.client.ServerVersion(ctx); err == nil {
		s.SetVersion(info.Major, info.Minor)
	}
	return s, nil
}

// SetVersion records the version of the cluster, as the cluster writes it.
func (s *ServedKinds) SetVersion(major, minor string) {
	m, err := strconv.Atoi(major)
	n, err2 := strconv.Atoi(strings.TrimSuffix(minor, "+")) // clouds write 33+
	if err == nil && err2 == nil {
		s.version = [2]int{m, n}
	}
}

// KeepsStatus reports whether the API server keeps the status of a resource apart, and true if that is unknown.
func (s *ServedKinds) KeepsStatus(resource string) bool {
	return s.statusKept == nil || s.statusKept[resource] || s.kinds[resource].Resource == ""
}

// KubernetesVersion returns the version of the cluster, and whether it is known.
func (s *ServedKinds) KubernetesVersion() (major, minor int, known bool) {
	if s == nil {
		return 0, 0, false
	}
	return s.version[0], s.version[1], s.version != [2]int{}
}

// UnexplainedWords returns the words that name no resource of the groups that listed their kinds, if some group did
// not list its kinds: Velero may know more of the words. A whole name, such as "routes.route.openshift.io", needs no
// explanation.
func (s *ServedKinds) UnexplainedWords(words []string) (untold []string) {
	if len(s.SilentReasons) == 0 {
		return nil
	}
	for _, word := range words {
		name, group, _ := strings.Cut(word, ".")
		if _, whole := s.SilentReasons[group]; word != "*" && !(whole && group != "") && !s.hasResourceNamed(name, group) {
			untold = append(untold, word)
		}
	}
	return untold
}

// hasResourceNamed reports whether a resource has that name, in a group that begins with group.
func (s *ServedKinds) hasResourceNamed(name, group string) bool {
	for version, r := range iterateResources(s.ResourceLists) {
		names := append([]string{r.Name, r.SingularName, r.Kind}, r.ShortNames...)
		if strings.HasPrefix(version.Group, group) &&
			slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return true
		}
	}
	return false
}

// SilentGroups returns the names of the API groups that did not list their kinds.
func (s *ServedKinds) SilentGroups() string {
	return strings.Join(slices.Sorted(maps.Keys(s.SilentReasons)), ", ")
}

// NewServedKinds returns the kinds that a cluster serves that lists these resources, as far as they can be listed.
func NewServedKinds(lists ...*metav1.APIResourceList) *ServedKinds {
	s := &ServedKinds{ResourceLists: lists, SilentReasons: map[string]string{}, kinds: map[string]servedKind{}}
	for version, served := range iterateResources(lists) {
		k := servedKind{version.WithResource(served.Name), served.Namespaced}
		if !strings.Contains(served.Name, "/") && slices.Contains(served.Verbs, "list") {
			s.kinds[k.GroupResource().String()] = k
		}
	}
	return s
}

// SetSubresources sets which resources have a subresource for the status, from lists that hold subresources.
func (s *ServedKinds) SetSubresources(lists ...*metav1.APIResourceList) {
	s.statusKept = map[string]bool{}
	for version, served := range iterateResources(lists) {
		if name, isStatus := strings.CutSuffix(served.Name, "/status"); isStatus {
			s.statusKept[version.WithResource(name).GroupResource().String()] = true
		}
	}
}

// iterateResources iterates over the resources in lists. It skips lists whose version cannot be read.
func iterateResources(lists []*metav1.APIResourceList) iter.Seq2[schema.GroupVersion, metav1.APIResource] {
	return func(yield func(schema.GroupVersion, metav1.APIResource) bool) {
		for _, list := range lists {
			if list == nil {
				continue
			}
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			for _, r := range list.APIResources {
				if err == nil && !yield(version, r) {
					return
				}
			}
		}
	}
}

// findKind returns the kind of a resource, zero if it is not served. It is an error if that is unknown.
func (s *ServedKinds) findKind(resource string) (servedKind, error) {
	_, group, _ := strings.Cut(resource, ".")
	k, ok := s.kinds[resource]
	if why, silent := s.SilentReasons[group]; silent && !ok {
		return servedKind{}, errors.New(why)
	}
	return k, nil
}

// VisitObjects visits the objects of a resource that a selector selects, as metadata if O is that, else whole, and
// cleaned of what could steer a terminal; an empty namespace stands for the whole cluster. It visits nothing for a
// resource that is not served. Its error is fit to be shown, and says why not all objects could be visited.
func VisitObjects[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, r *Reader, served *ServedKinds, resource, namespace, selector string, visit func(P)) error {
	k, err := served.findKind(resource)
	if k.Resource == "" {
		return err
	}
	visited, misread := map[types.NamespacedName]bool{}, MisreadError{} // a list that expired is read again
	err = readPages(
		ctx,
		metav1.ListOptions{Limit: r.PageSize, LabelSelector: selector},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			var page client.ListOf[O]
			err := r.client.ListInto(ctx, k.GroupVersionResource, namespace, o, &page)
			if errors.Is(err, client.ErrInvalidAnswer) { // one object that O cannot hold fails the page
				var parts client.ListOf[json.RawMessage]
				err = r.client.ListInto(ctx, k.GroupVersionResource, namespace, o, &parts)
				page.ListMeta, page.Items = parts.ListMeta, make([]O, len(parts.Items))
				for i := 0; err == nil && i < len(parts.Items); i++ {
					var malformed []decode.MalformedField
					if malformed, err = decode.Object(parts.Items[i], &page.Items[i]); len(malformed) > 0 {
						object := P(&page.Items[i])
						name := strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
						misread[name] = malformed[0].String()
					}
				}
			}
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				object := P(&page.Items[i])
				if name := (types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}); !visited[name] {
					visited[name] = true
					object.SetManagedFields(nil)
					sanitize.Object(object)
					visit(object)
				}
			}
			return page.Continue, nil
		},
	)
	if err == nil && len(misread) > 0 {
		return misread
	}
	return err
}

// MisreadError lists objects, by NAMESPACE/NAME, of which something could not be read, and what. The rest of each
// object was visited.
type MisreadError map[string]string

func (e MisreadError) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(e)))
	return first + ": " + e[first]
}

// readPages reads a list page by page. Its error is fit to be shown.
func readPages(
	ctx context.Context,
	o metav1.ListOptions,
	read func(context.Context, metav1.ListOptions) (next string, err error),
) error {
	err := session.ReadPages(ctx, o, read)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return sanitizedError(err)
}

// sanitizedError returns err in words that are safe to print.
func sanitizedError(err error) error { return sanitize.RewordError(errorText(err), err) }

// errorText returns why something could not be checked.
func errorText(err error) string {
	var silence session.SilenceError
	var slowness session.SlowAnswerError
	var incomplete *session.IncompleteError
	var redirect *session.RedirectError
	switch {
	case errors.As(err, &silence):
		return silence.Error()
	case errors.As(err, &slowness):
		return slowness.Error()
	case errors.As(err, &incomplete):
		return incomplete.Error()
	case errors.As(err, &redirect):
		return redirect.Error()
	case apierrors.IsForbidden(err):
		return "you may not list it"
	}
	return sanitize.String(err.Error())
}
