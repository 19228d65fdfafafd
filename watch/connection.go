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
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// defaultQPS and defaultBurst are the limits for a configuration without any: the first lists are about a hundred
// requests at once.
const (
	defaultQPS   = 50
	defaultBurst = 100
)

type connection struct {
	config  *rest.Config
	client  *client.Client    // finds Velero
	rest    rest.Interface    // reads the kinds
	gate    *gate             // holds requests back; nil for a one-shot read
	ungated http.RoundTripper // bypasses the gate for the heartbeat; nil for a one-shot read
	baseURL *url.URL
}

// newGatedConnection prepares a connection whose requests pass a gate, without using it. It fails for unreadable
// credentials.
func newGatedConnection(cfg *rest.Config, log *slog.Logger) (*connection, error) {
	var direct http.RoundTripper
	var g *gate
	c, err := newConnection(
		cfg,
		log,
		session.TransportOptions{WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			direct, g = next, newGate(next)
			return g
		}},
	)
	if err != nil {
		return nil, err
	}
	c.ungated, c.gate = direct, g
	return c, nil
}

// newConnection prepares a connection over a transport.
func newConnection(cfg *rest.Config, log *slog.Logger, t session.TransportOptions) (*connection, error) {
	c := &connection{config: cfg}
	cfg = rest.CopyConfig(cfg)
	// A time limit would end every watch and long list; the heartbeat or the readWatchdog notices a server that does not
	// answer.
	cfg.Timeout = 0
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = defaultQPS, defaultBurst
	}
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandler = warningLogger{log}
	}
	over, err := session.HTTPClient(cfg, t)
	if err != nil {
		return nil, err
	}
	if c.client, err = client.New(cfg, over, velero.NewRESTMapper()); err != nil {
		return nil, err
	}
	c.rest = c.client.REST
	if c.baseURL, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	return c, nil
}

// warningLogger sends the API server's warnings to the log instead of the terminal.
type warningLogger struct{ log *slog.Logger }

func (w warningLogger) HandleWarningHeader(code int, agent, text string) {
	w.log.Warn("warning from the API server", "code", code, "agent", agent, "text", text)
}

// hasSameAccess reports whether two configurations lead to the same server with the same credentials. It ignores
// functions, which cannot be compared.
func hasSameAccess(a, b *rest.Config) bool {
	return reflect.DeepEqual(comparableConfig(a), comparableConfig(b))
}

func comparableConfig(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Transport, c.WrapTransport = nil, nil
	c.RateLimiter, c.WarningHandler, c.WarningHandlerWithContext = nil, nil, nil
	c.Dial, c.Proxy, c.AuthConfigPersister = nil, nil, nil
	return c
}

// kindReader lists and watches one kind, object by object: an object that Velero's type cannot hold does not affect
// the others.
type kindReader struct {
	kind           *kind
	rest           rest.Interface
	path           string        // the path of the kind's resources, in one namespace if they have one
	silenceTimeout time.Duration // how long a streamed list may be silent
}

func newKindReader(k *kind, c rest.Interface, namespace string) kindReader {
	return kindReader{k, c, resourcePath(k, namespace), streamSilenceTimeout}
}

func resourcePath(k *kind, namespace string) string {
	root := "/apis/" + k.gvk.GroupVersion().String()
	if k.gvk.Group == "" {
		root = "/api/" + k.gvk.Version
	}
	if !k.clusterScoped {
		root += "/namespaces/" + cmp.Or(k.namespace, namespace)
	}
	return root + "/" + schema.ParseGroupResource(k.resource).Resource
}

type receivedObject struct {
	client.Object
	malformed []decode.MalformedField
	isPlain   bool // its texts are clean for certain
}

func wrapObject(o client.Object) *receivedObject {
	if r, ok := o.(*receivedObject); ok {
		return r
	}
	return &receivedObject{Object: o}
}

func (r kindReader) decodeObject(raw []byte) (*receivedObject, error) {
	o := r.kind.newObject()
	malformed, err := decode.Object(raw, o)
	if err != nil {
		return nil, err
	}
	return &receivedObject{o, malformed, sanitize.IsPlainJSON(raw)}, nil
}

func (r kindReader) buildRequest(o *metav1.ListOptions) *rest.Request {
	o.LabelSelector, o.FieldSelector = r.kind.labelSelector, r.kind.fieldSelector
	return r.rest.Get().
		AbsPath(r.path).
		SpecificallyVersionedParams(o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

func (r kindReader) openWatch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	o.Watch = true
	body, err := r.buildRequest(&o).Stream(session.WithStreaming(ctx))
	if err != nil {
		return nil, err
	}
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return apiwatch.NewStreamWatcherWithLogger(klog.FromContext(ctx), newEventDecoder(body, r.decodeObject), reporter), nil
}
