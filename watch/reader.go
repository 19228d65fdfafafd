package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/velero/decode"
)

// reader lists and watches one kind. It reads the API server's JSON itself,
// object by object, so that one that Velero's type cannot hold does not spoil
// the others, and each is decoded once.
type reader struct {
	kind *kind
	rest rest.Interface
	// path is that of the kind's resources, in one namespace if they have one.
	path string
}

func newReader(k *kind, c rest.Interface, namespace string) reader {
	root := "/apis/" + k.gvk.GroupVersion().String()
	if k.gvk.Group == "" {
		root = "/api/" + k.gvk.Version
	}
	if !k.clusterScoped {
		root += "/namespaces/" + cmp.Or(k.namespace, namespace)
	}
	return reader{k, c, root + "/" + schema.ParseGroupResource(k.resource).Resource}
}

// received is an object as it was decoded, with what it could not hold.
type received struct {
	client.Object
	malformed []decode.Malformed
}

// unwrap takes an object out of its wrapping, if it has one.
func unwrap(o client.Object) (client.Object, []decode.Malformed) {
	if r, ok := o.(*received); ok {
		return r.Object, r.malformed
	}
	return o, nil
}

func (r reader) object(raw []byte) (*received, error) {
	o := r.kind.newObject()
	malformed, err := decode.Object(raw, o)
	if err != nil {
		return nil, err
	}
	return &received{o, malformed}, nil
}

func (r reader) request(o *metav1.ListOptions) *rest.Request {
	o.LabelSelector = r.kind.selector
	return r.rest.Get().AbsPath(r.path).SpecificallyVersionedParams(o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// list reads all objects, or a page of them. Elements that are no objects are
// left out: they have no name to be shown by.
func (r reader) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	answer := r.request(&o).Do(ctx)
	if err := answer.Error(); err != nil { // with the server's reason, which Raw leaves out
		return nil, err
	}
	body, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	var page struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("reading the list of %s: %w", r.kind.resource, err)
	}
	list := &internalversion.List{ListMeta: page.Metadata, Items: make([]runtime.Object, 0, len(page.Items))}
	for _, raw := range page.Items {
		if object, err := r.object(raw); err == nil {
			list.Items = append(list.Items, object)
		}
	}
	return list, nil
}

// watch follows the changes.
func (r reader) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	o.Watch = true
	body, err := r.request(&o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return apiwatch.NewStreamWatcherWithLogger(klog.FromContext(ctx), newEventDecoder(body, r.object), reporter), nil
}
