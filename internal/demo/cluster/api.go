package cluster

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
)

// typed reads what clients of Kubernetes' own kinds send.
var typed = func() runtime.Decoder {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme,
		appsv1.AddToScheme,
		batchv1.AddToScheme,
		storagev1.AddToScheme,
		authorizationv1.AddToScheme,
		authenticationv1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return serializer.NewCodecFactory(s).UniversalDeserializer()
}()

var podKind = kindOf(gvk("", "v1", "Pod"))

// user is who everybody is that knows the token.
const user = "demo"

// maxBody bounds what a client may send.
const maxBody = 4 << 20

// API serves the cluster to those who send the bearer token.
func (c *Cluster) API(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(sent), []byte(token)) != 1 {
			answerError(w, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := c.route(w, r); err != nil {
			answerError(w, err)
		}
	})
}

func (c *Cluster) route(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		return answer(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3", Platform: "demo"})
	case r.URL.Path == "/readyz", r.URL.Path == "/livez", r.URL.Path == "/healthz":
		fmt.Fprint(w, "ok")
		return nil
	case r.URL.Path == "/api":
		return answer(
			w,
			http.StatusOK,
			metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		)
	case r.URL.Path == "/apis":
		return answer(w, http.StatusOK, c.groups())
	case parts[0] == "api" && len(parts) >= 2:
		return c.group(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
	case parts[0] == "apis" && len(parts) >= 3:
		return c.group(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	return errNoPath
}

// errNoPath is what the API server says about a path that it does not have.
var errNoPath = apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true)

func (c *Cluster) group(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion, parts []string) error {
	if len(parts) == 0 {
		if list := c.resources(gv); list != nil {
			return answer(w, http.StatusOK, list)
		}
		return errNoPath
	}
	if review, found := reviews[gv.Group+"/"+parts[0]]; found && r.Method == http.MethodPost {
		return answer(w, http.StatusCreated, review)
	}
	q := request{cluster: c, w: w, r: r}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	}
	if q.kind = c.kind(gv.WithResource(parts[0])); q.kind == nil {
		return errNoPath
	}
	if len(parts) > 1 {
		q.name = parts[1]
	}
	switch {
	case len(parts) == 3 && q.kind.gvr == podKind.gvr && parts[2] == "log" && r.Method == http.MethodGet:
		pod, err := q.get()
		if err != nil {
			return err
		}
		return c.serveLog(w, r, pod)
	case len(parts) > 2:
		return errNoPath // Velero's kinds have no status subresource
	}
	return q.serve()
}

// request is one request for objects.
type request struct {
	cluster         *Cluster
	w               http.ResponseWriter
	r               *http.Request
	kind            *kind
	namespace, name string
}

func (q request) serve() error {
	dryRun := q.r.URL.Query().Get("dryRun") == metav1.DryRunAll
	switch {
	case q.r.Method == http.MethodGet && q.name == "":
		return q.list()
	case q.r.Method == http.MethodGet:
		o, err := q.get()
		return q.answer(http.StatusOK, o, err)
	case q.r.Method == http.MethodPost && q.name == "":
		o, err := q.body()
		if err != nil {
			return err
		}
		o, err = q.cluster.create(q.kind, o, q.author(), dryRun)
		return q.answer(http.StatusCreated, o, err)
	case q.r.Method == http.MethodPut && q.name != "":
		o, err := q.body()
		if err != nil {
			return err
		}
		o.SetName(q.name)
		o, err = q.cluster.update(q.kind, o, q.author(), dryRun)
		return q.answer(http.StatusOK, o, err)
	case q.r.Method == http.MethodPatch && q.name != "":
		data, err := io.ReadAll(q.r.Body)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		t, _, _ := strings.Cut(q.r.Header.Get("Content-Type"), ";")
		o, err := q.cluster.patch(q.kind, q.namespace, q.name, types.PatchType(t), data, q.author(), dryRun)
		return q.answer(http.StatusOK, o, err)
	case q.r.Method == http.MethodDelete && q.name != "":
		return q.delete(dryRun)
	}
	return apierrors.NewMethodNotSupported(q.kind.gvr.GroupResource(), q.r.Method)
}

func (q request) get() (*Object, error) {
	q.cluster.mu.Lock()
	o, err := q.cluster.get(q.kind, q.namespace, q.name)
	q.cluster.mu.Unlock()
	if apierrors.IsNotFound(err) {
		for _, other := range q.cluster.others(q.kind) {
			if other.GetNamespace() == q.namespace && other.GetName() == q.name {
				return other, nil
			}
		}
	}
	return o, err
}

func (q request) delete(dryRun bool) error {
	var o metav1.DeleteOptions
	data, err := io.ReadAll(q.r.Body)
	if err == nil && len(data) > 0 {
		_, _, err = typed.Decode(data, nil, &o)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if dryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	deleted, err := q.cluster.delete(q.kind, q.namespace, q.name, o, q.author())
	return q.answer(http.StatusOK, deleted, err)
}

// body reads an object, which clients of Kubernetes' own kinds send as protobuf.
func (q request) body() (*Object, error) {
	data, err := io.ReadAll(q.r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if strings.Contains(q.r.Header.Get("Content-Type"), "protobuf") {
		o, _, err := typed.Decode(data, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if data, err = json.Marshal(o); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if o.GroupVersionKind() != q.kind.gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is a %s, not a %s", o.GroupVersionKind(), q.kind.gvk))
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(q.namespace)
	}
	if o.GetNamespace() != q.namespace {
		return nil, apierrors.NewBadRequest("the namespace of the object is not that of the request")
	}
	return o, nil
}

// author is who sends a request: its field manager, or the program's name.
func (q request) author() Author {
	by := Author{Manager: q.r.URL.Query().Get("fieldManager"), Client: true}
	if by.Manager == "" {
		by.Manager, _, _ = strings.Cut(q.r.UserAgent(), "/")
	}
	return by
}

func (q request) answer(code int, o *Object, err error) error {
	if err != nil {
		return err
	}
	if q.metadataOnly() {
		o = metadataOf(o)
	}
	return answer(q.w, code, o)
}

// metadataOnly: a client may ask for the metadata of objects alone.
func (q request) metadataOnly() bool {
	return strings.Contains(q.r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func metadataOf(o *Object) *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"],
	}}
}

func answer(w http.ResponseWriter, code int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // who has gone gets nothing
	return nil
}

func answerError(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	_ = answer(w, int(status.Code), status)
}
