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

// Options say how a [Reader] asks.
type Options struct {
	Config   *rest.Config     // Config leads to the API server. It is copied, not changed.
	Parallel int              // how many lists are read at once; 0 means four
	Silence  time.Duration    // how long nothing may come in answer to a request; 0 means 30 seconds
	Page     int64            // how many objects are asked for at once; 0 means 500
	Clock    func() time.Time // our own clock; nil means time.Now
	Log      *slog.Logger     // Log gets what could not be looked at; nil discards it
}

// Reader asks one cluster.
type Reader struct {
	Options
	meter  *session.Meter
	client *client.Client
}

// New makes a Reader; it does not talk to the cluster.
func New(o Options) (*Reader, error) {
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Silence = cmp.Or(o.Silence, 30*time.Second)
	o.Page = cmp.Or(o.Page, 500)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Clock == nil {
		o.Clock = time.Now
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // a long answer is no silence
	r := &Reader{Options: o, meter: session.NewMeter(o.Clock)}
	over, err := session.HTTPClient(config, session.TransportOptions{Meter: r.meter, Silence: o.Silence})
	if err != nil {
		return nil, err
	}
	if r.client, err = client.New(config, over, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// Cost is what was asked of the API server so far.
type Cost struct {
	Requests int
	Bytes    int64 // those of the answers, after decompression
}

// Cost returns what was asked of the API server so far.
func (r *Reader) Cost() Cost {
	requests, bytes := r.meter.Cost()
	return Cost{requests, bytes}
}

// Served is what a cluster serves.
type Served struct {
	Lists   []*metav1.APIResourceList // as client-go's ServerPreferredResources returns them
	Silent  map[string]string         // the groups that did not tell, with why: nothing may be said of their kinds
	kinds   map[string]kind           // by resource
	version [2]int                    // Kubernetes', zero if the cluster did not tell
}

type kind struct {
	schema.GroupVersionResource
	namespaced bool
}

// Serves reports whether a resource, as "deployments.apps", is served, and whether that is known.
func (s *Served) Serves(resource string) (serves, known bool) {
	if _, ok := s.kinds[resource]; ok {
		return true, true
	}
	_, group, _ := strings.Cut(resource, ".")
	_, silent := s.Silent[group]
	return false, !silent
}

// Served asks the cluster for the kinds that it serves. It is an error if it does not tell at all.
func (r *Reader) Served(ctx context.Context) (*Served, error) {
	kinds, err := r.client.Kinds(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("asking the cluster for its kinds: %w", safe(err))
	}
	s := ServedBy(kinds.Preferred()...)
	for group, why := range kinds.Silent {
		s.Silent[group.Group] = words(why)
	}
	if info, err := r.client.Version(ctx); err == nil {
		s.SetVersion(info.Major, info.Minor)
	}
	return s, nil
}

// SetVersion notes the version of the cluster, as it writes it.
func (s *Served) SetVersion(major, minor string) {
	m, err := strconv.Atoi(major)
	n, err2 := strconv.Atoi(strings.TrimSuffix(minor, "+")) // clouds write 33+
	if err == nil && err2 == nil {
		s.version = [2]int{m, n}
	}
}

// Kubernetes is the version of the cluster, and whether it is known.
func (s *Served) Kubernetes() (major, minor int, known bool) {
	if s == nil {
		return 0, 0, false
	}
	return s.version[0], s.version[1], s.version != [2]int{}
}

// Untold returns the words for resources that no group explains that told its kinds, where some group did not:
// Velero may know more of them. A whole name, as "routes.route.openshift.io", needs no explanation.
func (s *Served) Untold(words []string) (untold []string) {
	if len(s.Silent) == 0 {
		return nil
	}
	for _, word := range words {
		name, group, _ := strings.Cut(word, ".")
		if _, whole := s.Silent[group]; word != "*" && !(whole && group != "") && !s.explains(name, group) {
			untold = append(untold, word)
		}
	}
	return untold
}

// explains says whether a resource has that name, in a group that begins with group.
func (s *Served) explains(name, group string) bool {
	for version, r := range resources(s.Lists) {
		names := append([]string{r.Name, r.SingularName, r.Kind}, r.ShortNames...)
		if strings.HasPrefix(version.Group, group) &&
			slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return true
		}
	}
	return false
}

// SilentGroups names the API groups that did not tell their kinds.
func (s *Served) SilentGroups() string {
	return strings.Join(slices.Sorted(maps.Keys(s.Silent)), ", ")
}

// ServedBy is what a cluster serves that lists these resources, as far as it can be listed.
func ServedBy(lists ...*metav1.APIResourceList) *Served {
	s := &Served{Lists: lists, Silent: map[string]string{}, kinds: map[string]kind{}}
	for version, served := range resources(lists) {
		k := kind{version.WithResource(served.Name), served.Namespaced}
		if !strings.Contains(served.Name, "/") && slices.Contains(served.Verbs, "list") {
			s.kinds[k.GroupResource().String()] = k
		}
	}
	return s
}

// resources goes through what lists name, without lists whose version cannot be read.
func resources(lists []*metav1.APIResourceList) iter.Seq2[schema.GroupVersion, metav1.APIResource] {
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

// kind is zero for what is not served. It is an error if that is not known.
func (s *Served) kind(resource string) (kind, error) {
	_, group, _ := strings.Cut(resource, ".")
	k, ok := s.kinds[resource]
	if why, silent := s.Silent[group]; silent && !ok {
		return kind{}, errors.New(why)
	}
	return k, nil
}

// Visit visits the objects of a resource that a selector selects, as metadata if O is that, else whole, and cleaned of
// what could steer a terminal; an empty namespace stands for the whole cluster. What is not served visits nothing. Its
// error is fit to be shown: why it could not be looked at, and then what was visited is not all.
func Visit[O any, P interface {
	*O
	metav1.Object
}](ctx context.Context, r *Reader, served *Served, resource, namespace, selector string, visit func(P)) error {
	k, err := served.kind(resource)
	if k.Resource == "" {
		return err
	}
	visited, misread := map[types.NamespacedName]bool{}, MisreadError{} // a list that expired is read again
	err = pages(
		ctx,
		metav1.ListOptions{Limit: r.Page, LabelSelector: selector},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			var page client.ListOf[O]
			err := r.client.ListAny(ctx, k.GroupVersionResource, namespace, o, &page)
			if errors.Is(err, client.ErrAnswer) { // one object that O cannot hold fails the page
				var parts client.ListOf[json.RawMessage]
				err = r.client.ListAny(ctx, k.GroupVersionResource, namespace, o, &parts)
				page.ListMeta, page.Items = parts.ListMeta, make([]O, len(parts.Items))
				for i := 0; err == nil && i < len(parts.Items); i++ {
					var malformed []decode.Malformed
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

// MisreadError are objects, by NAMESPACE/NAME, of which something could not be read, and what. The rest of
// them was visited.
type MisreadError map[string]string

func (e MisreadError) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(e)))
	return first + ": " + e[first]
}

// pages reads a list page by page. Its error is fit to be shown.
func pages(
	ctx context.Context,
	o metav1.ListOptions,
	read func(context.Context, metav1.ListOptions) (next string, err error),
) error {
	err := session.Pages(ctx, o, read)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return safe(err)
}

// safe returns err in words that are safe to print.
func safe(err error) error { return sanitize.Reworded(words(err), err) }

// words says why something could not be looked at.
func words(err error) string {
	var silence session.SilenceError
	var slowness session.SlownessError
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
