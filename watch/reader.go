package watch

import (
	"cmp"
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/velero/decode"
)

// reader lists and watches one kind. It reads the API server's JSON itself,
// object by object, so that one that Velero's type cannot hold does not spoil
// the others, and each is decoded once.
type reader struct {
	kind     *kind
	rest     rest.Interface
	path     string        // that of the kind's resources, in one namespace if they have one
	patience time.Duration // how long a streamed list may be silent
}

func newReader(k *kind, c rest.Interface, namespace string) reader {
	return reader{k, c, pathOf(k, namespace), streamPatience}
}

func pathOf(k *kind, namespace string) string {
	root := "/apis/" + k.gvk.GroupVersion().String()
	if k.gvk.Group == "" {
		root = "/api/" + k.gvk.Version
	}
	if !k.clusterScoped {
		root += "/namespaces/" + cmp.Or(k.namespace, namespace)
	}
	return root + "/" + schema.ParseGroupResource(k.resource).Resource
}

// received is an object as it was decoded, with what it could not hold.
type received struct {
	client.Object
	malformed []decode.Malformed
}

func wrap(o client.Object) *received {
	if r, ok := o.(*received); ok {
		return r
	}
	return &received{Object: o}
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
	o.LabelSelector, o.FieldSelector = r.kind.selector, r.kind.field
	return r.rest.Get().AbsPath(r.path).SpecificallyVersionedParams(o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

func (r reader) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	o.Watch = true
	body, err := r.request(&o).Stream(session.Streaming(ctx))
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return apiwatch.NewStreamWatcherWithLogger(klog.FromContext(ctx), newEventDecoder(body, r.object), reporter), nil
}
