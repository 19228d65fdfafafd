package watch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// qps and burst are the limits of a configuration without any: the first lists are about a hundred requests at once.
const (
	qps   = 50
	burst = 100
)

type connection struct {
	config *rest.Config
	client *client.Client    // asks where Velero is
	rest   rest.Interface    // reads what is there
	gate   *gate             // holds requests back; nil for one reading
	direct http.RoundTripper // bypasses the gate for the heartbeat; nil for one reading
	base   *url.URL
}

// connect prepares a connection whose requests pass a gate, without using it. It fails for unreadable credentials.
func connect(cfg *rest.Config, log *slog.Logger) (*connection, error) {
	var direct http.RoundTripper
	var g *gate
	c, err := open(cfg, log, session.TransportOptions{Over: func(next http.RoundTripper) http.RoundTripper {
		direct, g = next, newGate(next)
		return g
	}})
	if err != nil {
		return nil, err
	}
	c.direct, c.gate = direct, g
	return c, nil
}

// open prepares a connection over a transport.
func open(cfg *rest.Config, log *slog.Logger, t session.TransportOptions) (*connection, error) {
	c := &connection{config: cfg}
	cfg = rest.CopyConfig(cfg)
	// A time limit would end every watch and long list; the heartbeat or the line notices a
	// server that does not answer.
	cfg.Timeout = 0
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = qps, burst
	}
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandler = warnings{log}
	}
	over, err := session.HTTPClient(cfg, t)
	if err != nil {
		return nil, err
	}
	if c.client, err = client.New(cfg, over, velero.Mapper()); err != nil {
		return nil, err
	}
	c.rest = c.client.REST
	if c.base, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	return c, nil
}

// warnings sends the API server's warnings to the log instead of the terminal.
type warnings struct{ log *slog.Logger }

func (w warnings) HandleWarningHeader(code int, agent, text string) {
	w.log.Warn("warning from the API server", "code", code, "agent", agent, "text", text)
}

// sameAccess reports whether both lead to the same server with the same credentials. Functions cannot be compared.
func sameAccess(a, b *rest.Config) bool {
	return reflect.DeepEqual(accessOf(a), accessOf(b))
}

func accessOf(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Transport, c.WrapTransport = nil, nil
	c.RateLimiter, c.WarningHandler, c.WarningHandlerWithContext = nil, nil, nil
	c.Dial, c.Proxy, c.AuthConfigPersister = nil, nil, nil
	return c
}

// reader lists and watches one kind, object by object: one that Velero's type cannot hold does not spoil the others.
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
	return r.rest.Get().
		AbsPath(r.path).
		SpecificallyVersionedParams(o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
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
