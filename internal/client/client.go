package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
)

// The client-side limits if the configuration has none: those of client-go's discovery, which
// asks an old API server for each of its groups.
const (
	qps   = 50
	burst = 300
)

const (
	asMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	asMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

type Object interface {
	metav1.Object
	runtime.Object
}

type Client struct {
	REST   rest.Interface
	mapper meta.RESTMapper
}

// New makes a client over an HTTP client. The mapper must know the objects' kinds; nil knows none.
func New(config *rest.Config, over *http.Client, mapper meta.RESTMapper) (*Client, error) {
	if over == nil {
		return nil, errors.New("preparing the connection to the API server: no HTTP client")
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = qps, burst
	}
	if mapper == nil {
		mapper = meta.NewDefaultRESTMapper(nil)
	}
	// All that the REST client decodes itself is the API server's errors.
	v1 := schema.GroupVersion{Version: "v1"}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, v1)
	config.GroupVersion = &v1
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c, err := rest.RESTClientForConfigAndClient(config, over)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	return &Client{c, mapper}, nil
}

func (c *Client) Get(ctx context.Context, o Object) error {
	r, err := c.request(http.MethodGet, o, o.GetNamespace(), nil)
	if err != nil {
		return err
	}
	return into(r.Name(o.GetName()).Do(ctx), o)
}

// List reads the objects of a list's kind in a namespace, or in all, into the list.
func (c *Client) List(ctx context.Context, list runtime.Object, namespace string, o metav1.ListOptions) error {
	r, err := c.request(http.MethodGet, list, namespace, &o)
	if err != nil {
		return err
	}
	return into(r.Do(ctx), list)
}

// ListOf is a list of objects of any type.
type ListOf[O any] struct {
	metav1.ListMeta `    json:"metadata"`
	Items           []O `json:"items"`
}

// ListAny reads the objects of a resource in a namespace, or in all, into a list of any type.
func (c *Client) ListAny(
	ctx context.Context,
	resource schema.GroupVersionResource,
	namespace string,
	o metav1.ListOptions,
	list any,
) error {
	r, err := withParams(c.REST.Get().AbsPath(groupPath(resource.GroupVersion())).Resource(resource.Resource), &o)
	if err != nil {
		return err
	}
	if namespace != "" {
		r.Namespace(namespace)
	}
	switch list.(type) {
	case *metav1.PartialObjectMetadataList, *ListOf[metav1.PartialObjectMetadata]:
		r.SetHeader("Accept", asMetadataList)
	}
	return into(r.Do(ctx), list)
}

// Create creates an object, and reads into it what the API server made of it.
func (c *Client) Create(ctx context.Context, o Object, options metav1.CreateOptions) error {
	r, err := c.request(http.MethodPost, o, o.GetNamespace(), &options)
	if err != nil {
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	return into(r.Body(data).Do(ctx), o)
}

func (c *Client) Patch(
	ctx context.Context,
	o Object,
	kind types.PatchType,
	patch []byte,
	options metav1.PatchOptions,
) error {
	r, err := c.request(http.MethodPatch, o, o.GetNamespace(), &options)
	if err != nil {
		return err
	}
	return into(r.Name(o.GetName()).Body(patch).SetHeader("Content-Type", string(kind)).Do(ctx), o)
}

// Delete deletes an object. The answer is the object while a finalizer holds it, else a Status.
func (c *Client) Delete(
	ctx context.Context,
	o Object,
	options metav1.DeleteOptions,
) (answer map[string]any, err error) {
	r, err := c.request(http.MethodDelete, o, o.GetNamespace(), nil)
	if err != nil {
		return nil, err
	}
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	data, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	err = into(r.Name(o.GetName()).Body(data).Do(ctx), &answer)
	return answer, err
}

func (c *Client) May(
	ctx context.Context,
	right authorizationv1.ResourceAttributes,
) (authorizationv1.SubjectAccessReviewStatus, error) {
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{
			APIVersion: authorizationv1.SchemeGroupVersion.String(),
			Kind:       "SelfSubjectAccessReview",
		},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	err := c.review(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review)
	return review.Status, err
}

func (c *Client) User(ctx context.Context) (authenticationv1.UserInfo, error) {
	review := authenticationv1.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview"},
	}
	err := c.review(ctx, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &review)
	return review.Status.UserInfo, err
}

func (c *Client) review(ctx context.Context, path string, review any) error {
	data, err := json.Marshal(review)
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	return into(c.REST.Post().AbsPath(path).Body(data).Do(ctx), review)
}

func (c *Client) Namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	o := &metav1.PartialObjectMetadata{}
	return o, into(c.REST.Get().AbsPath("/api/v1/namespaces").Name(name).SetHeader("Accept", asMetadata).Do(ctx), o)
}

type Pods struct {
	client    *Client
	namespace string
}

func (c *Client) Pods(namespace string) *Pods { return &Pods{c, namespace} }

func (p *Pods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	pods := &corev1.PodList{}
	r, err := withParams(p.request(), &o)
	if err == nil {
		err = into(r.Do(ctx), pods)
	}
	return pods, err
}

func (p *Pods) Get(ctx context.Context, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, into(p.request().Name(name).Do(ctx), pod)
}

func (p *Pods) Log(ctx context.Context, name string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	r, err := withParams(p.request().Name(name).SubResource("log"), &o)
	if err != nil {
		return nil, err
	}
	return r.Stream(ctx)
}

func (p *Pods) request() *rest.Request {
	return p.client.REST.Get().AbsPath("/api/v1").Namespace(p.namespace).Resource("pods")
}

func (c *Client) request(verb string, o runtime.Object, namespace string, options any) (*rest.Request, error) {
	kind := o.GetObjectKind().GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(
		schema.GroupKind{Group: kind.Group, Kind: strings.TrimSuffix(kind.Kind, "List")},
		kind.Version,
	)
	if err != nil {
		return nil, err
	}
	r := c.REST.Verb(verb).AbsPath(groupPath(kind.GroupVersion())).Resource(mapping.Resource.Resource)
	if namespace != "" {
		r.NamespaceIfScoped(namespace, mapping.Scope.Name() == meta.RESTScopeNameNamespace)
	}
	switch o.(type) {
	case *metav1.PartialObjectMetadata:
		r.SetHeader("Accept", asMetadata)
	case *metav1.PartialObjectMetadataList:
		r.SetHeader("Accept", asMetadataList)
	}
	return withParams(r, options)
}

func groupPath(g schema.GroupVersion) string {
	if g.Group == "" {
		return "/api/" + g.Version
	}
	return "/apis/" + g.Group + "/" + g.Version
}

func withParams(r *rest.Request, options any) (*rest.Request, error) {
	if options == nil {
		return r, nil
	}
	params, err := queryparams.Convert(options)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	for name, values := range params {
		for _, value := range values {
			r.Param(name, value)
		}
	}
	return r, nil
}

// into reads an answer into a value. What the API server says of an error is in it.
func into(answer rest.Result, value any) error {
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	if err := utiljson.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// ErrAnswer is about an answer that does not fit the type into which it is read.
var ErrAnswer = errors.New("reading the answer of the API server")
