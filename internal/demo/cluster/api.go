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

// typedDecoder decodes objects of Kubernetes' own kinds that clients send.
var typedDecoder = func() runtime.Decoder {
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

var podKind = newServedKind(newGVK("", "v1", "Pod"))

// userName is the user for everybody with the token.
const userName = "demo"

// maxBodyBytes is the maximum size of a client's request body.
const maxBodyBytes = 4 << 20

// APIHandler returns a handler that serves the cluster to clients with the bearer token.
func (c *Cluster) APIHandler(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(sent), []byte(token)) != 1 {
			respondError(w, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		if err := c.routeRequest(w, r); err != nil {
			respondError(w, err)
		}
	})
}

func (c *Cluster) routeRequest(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		return respondJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3", Platform: "demo"})
	case r.URL.Path == "/readyz", r.URL.Path == "/livez", r.URL.Path == "/healthz":
		fmt.Fprint(w, "ok")
		return nil
	case r.URL.Path == "/api":
		return respondJSON(
			w,
			http.StatusOK,
			metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		)
	case r.URL.Path == "/apis":
		return respondJSON(w, http.StatusOK, c.groupList())
	case parts[0] == "api" && len(parts) >= 2:
		return c.serveGroup(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
	case parts[0] == "apis" && len(parts) >= 3:
		return c.serveGroup(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	return errNoPath
}

// errNoPath is the API server's answer for an unknown path.
var errNoPath = apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true)

func (c *Cluster) serveGroup(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion, parts []string) error {
	if len(parts) == 0 {
		if list := c.resourceList(gv); list != nil {
			return respondJSON(w, http.StatusOK, list)
		}
		return errNoPath
	}
	if review, found := reviewResponses[gv.Group+"/"+parts[0]]; found && r.Method == http.MethodPost {
		return respondJSON(w, http.StatusCreated, review)
	}
	q := objectRequest{cluster: c, w: w, r: r}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	}
	if q.kind = c.findKind(gv.WithResource(parts[0])); q.kind == nil {
		return errNoPath
	}
	if len(parts) > 1 {
		q.name = parts[1]
	}
	switch {
	case len(parts) == 3 && q.kind.gvr == podKind.gvr && parts[2] == "log" && r.Method == http.MethodGet:
		pod, err := q.getObject()
		if err != nil {
			return err
		}
		return c.serveLog(w, r, pod)
	case len(parts) > 2:
		return errNoPath // Velero's kinds have no status subresource
	}
	return q.serveObjects()
}

// objectRequest is one request for objects.
type objectRequest struct {
	cluster         *Cluster
	w               http.ResponseWriter
	r               *http.Request
	kind            *servedKind
	namespace, name string
}

func (q objectRequest) serveObjects() error {
	dryRun := q.r.URL.Query().Get("dryRun") == metav1.DryRunAll
	switch {
	case q.r.Method == http.MethodGet && q.name == "":
		return q.serveList()
	case q.r.Method == http.MethodGet:
		o, err := q.getObject()
		return q.respondObject(http.StatusOK, o, err)
	case q.r.Method == http.MethodPost && q.name == "":
		o, err := q.decodeBody()
		if err != nil {
			return err
		}
		o, err = q.cluster.createObject(q.kind, o, q.requestAuthor(), dryRun)
		return q.respondObject(http.StatusCreated, o, err)
	case q.r.Method == http.MethodPut && q.name != "":
		o, err := q.decodeBody()
		if err != nil {
			return err
		}
		o.SetName(q.name)
		o, err = q.cluster.updateObject(q.kind, o, q.requestAuthor(), dryRun)
		return q.respondObject(http.StatusOK, o, err)
	case q.r.Method == http.MethodPatch && q.name != "":
		data, err := io.ReadAll(q.r.Body)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		t, _, _ := strings.Cut(q.r.Header.Get("Content-Type"), ";")
		o, err := q.cluster.patchObject(q.kind, q.namespace, q.name, types.PatchType(t), data, q.requestAuthor(), dryRun)
		return q.respondObject(http.StatusOK, o, err)
	case q.r.Method == http.MethodDelete && q.name != "":
		return q.deleteObject(dryRun)
	}
	return apierrors.NewMethodNotSupported(q.kind.gvr.GroupResource(), q.r.Method)
}

func (q objectRequest) getObject() (*Object, error) {
	q.cluster.mu.Lock()
	o, err := q.cluster.getLocked(q.kind, q.namespace, q.name)
	q.cluster.mu.Unlock()
	if apierrors.IsNotFound(err) {
		for _, other := range q.cluster.listExtra(q.kind) {
			if other.GetNamespace() == q.namespace && other.GetName() == q.name {
				return other, nil
			}
		}
	}
	return o, err
}

func (q objectRequest) deleteObject(dryRun bool) error {
	var o metav1.DeleteOptions
	data, err := io.ReadAll(q.r.Body)
	if err == nil && len(data) > 0 {
		_, _, err = typedDecoder.Decode(data, nil, &o)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if dryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	deleted, err := q.cluster.deleteObject(q.kind, q.namespace, q.name, o, q.requestAuthor())
	return q.respondObject(http.StatusOK, deleted, err)
}

// decodeBody decodes the object in the request's body. Clients send Kubernetes' own kinds as protobuf.
func (q objectRequest) decodeBody() (*Object, error) {
	data, err := io.ReadAll(q.r.Body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if strings.Contains(q.r.Header.Get("Content-Type"), "protobuf") {
		o, _, err := typedDecoder.Decode(data, nil, nil)
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

// requestAuthor returns the author of a request: its field manager, or the program's name.
func (q objectRequest) requestAuthor() Author {
	by := Author{FieldManager: q.r.URL.Query().Get("fieldManager"), FromClient: true}
	if by.FieldManager == "" {
		by.FieldManager, _, _ = strings.Cut(q.r.UserAgent(), "/")
	}
	return by
}

func (q objectRequest) respondObject(code int, o *Object, err error) error {
	if err != nil {
		return err
	}
	if q.metadataOnly() {
		o = stripToMetadata(o)
	}
	return respondJSON(q.w, code, o)
}

// metadataOnly reports whether the client asks only for the metadata of objects.
func (q objectRequest) metadataOnly() bool {
	return strings.Contains(q.r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func stripToMetadata(o *Object) *Object {
	return &Object{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"],
	}}
}

func respondJSON(w http.ResponseWriter, code int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // the client may have disconnected
	return nil
}

func respondError(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	_ = respondJSON(w, int(status.Code), status)
}
