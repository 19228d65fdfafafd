package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// These are the client-side limits if the configuration has none: those of client-go's discovery, which asks an old
// API server for each of its groups.
const (
	defaultQPS   = 50
	defaultBurst = 300
)

const (
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

type Object interface {
	metav1.Object
	runtime.Object
}

// Client reads and deletes with the REST client, and writes with controller-runtime's client. Several goroutines may
// use it.
type Client struct {
	REST   rest.Interface
	mapper meta.RESTMapper

	config     *rest.Config // for the writers
	httpClient *http.Client

	mu      sync.Mutex
	writers map[schema.GroupVersionKind]runtimeclient.Client
}

// New returns a client that uses an HTTP client. The mapper must know the objects' kinds; nil knows only reviews.
func New(config *rest.Config, over *http.Client, mapper meta.RESTMapper) (*Client, error) {
	if over == nil {
		return nil, errors.New("preparing the connection to the API server: no HTTP client")
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = defaultQPS, defaultBurst
	}
	// The REST client itself decodes only the API server's errors.
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
	return &Client{
		REST:       c,
		mapper:     withReviews(mapper),
		config:     writerConfig(config, c),
		httpClient: over,
		writers:    map[schema.GroupVersionKind]runtimeclient.Client{},
	}, nil
}

func (c *Client) Get(ctx context.Context, o Object) error {
	r, err := c.newRequest(http.MethodGet, o, o.GetNamespace(), nil)
	if err != nil {
		return err
	}
	return decodeAnswer(r.Name(o.GetName()).Do(ctx), o)
}

// List reads the objects of a list's kind in a namespace, or in all, into the list.
func (c *Client) List(ctx context.Context, list runtime.Object, namespace string, o metav1.ListOptions) error {
	r, err := c.newRequest(http.MethodGet, list, namespace, &o)
	if err != nil {
		return err
	}
	return decodeAnswer(r.Do(ctx), list)
}

// ListOf is a list of objects of any type.
type ListOf[O any] struct {
	metav1.ListMeta `    json:"metadata"`
	Items           []O `json:"items"`
}

// ListInto reads the objects of a resource in a namespace, or in all, into a list of any type.
func (c *Client) ListInto(
	ctx context.Context,
	resource schema.GroupVersionResource,
	namespace string,
	o metav1.ListOptions,
	list any,
) error {
	r, err := addParams(c.REST.Get().AbsPath(groupVersionPath(resource.GroupVersion())).Resource(resource.Resource), &o)
	if err != nil {
		return err
	}
	if namespace != "" {
		r.Namespace(namespace)
	}
	switch list.(type) {
	case *metav1.PartialObjectMetadataList, *ListOf[metav1.PartialObjectMetadata]:
		r.SetHeader("Accept", acceptMetadataList)
	}
	return decodeAnswer(r.Do(ctx), list)
}

// Delete deletes an object. The answer is the object while a finalizer holds it, else a Status.
func (c *Client) Delete(
	ctx context.Context,
	o Object,
	options metav1.DeleteOptions,
) (answer map[string]any, err error) {
	r, err := c.newRequest(http.MethodDelete, o, o.GetNamespace(), nil)
	if err != nil {
		return nil, err
	}
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	data, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	err = decodeAnswer(r.Name(o.GetName()).Body(data).Do(ctx), &answer)
	return answer, err
}

func (c *Client) GetNamespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	o := &metav1.PartialObjectMetadata{}
	return o, decodeAnswer(
		c.REST.Get().AbsPath("/api/v1/namespaces").Name(name).SetHeader("Accept", acceptMetadata).Do(ctx),
		o,
	)
}

type Pods struct {
	client    *Client
	namespace string
}

func (c *Client) Pods(namespace string) *Pods { return &Pods{c, namespace} }

func (p *Pods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	pods := &corev1.PodList{}
	r, err := addParams(p.newRequest(), &o)
	if err == nil {
		err = decodeAnswer(r.Do(ctx), pods)
	}
	return pods, err
}

func (p *Pods) Get(ctx context.Context, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, decodeAnswer(p.newRequest().Name(name).Do(ctx), pod)
}

func (p *Pods) StreamLog(ctx context.Context, name string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	r, err := addParams(p.newRequest().Name(name).SubResource("log"), &o)
	if err != nil {
		return nil, err
	}
	return r.Stream(ctx)
}

func (p *Pods) newRequest() *rest.Request {
	return p.client.REST.Get().AbsPath("/api/v1").Namespace(p.namespace).Resource("pods")
}

func (c *Client) newRequest(verb string, o runtime.Object, namespace string, options any) (*rest.Request, error) {
	kind := o.GetObjectKind().GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(
		schema.GroupKind{Group: kind.Group, Kind: strings.TrimSuffix(kind.Kind, "List")},
		kind.Version,
	)
	if err != nil {
		return nil, err
	}
	r := c.REST.Verb(verb).AbsPath(groupVersionPath(kind.GroupVersion())).Resource(mapping.Resource.Resource)
	if namespace != "" {
		r.NamespaceIfScoped(namespace, mapping.Scope.Name() == meta.RESTScopeNameNamespace)
	}
	switch o.(type) {
	case *metav1.PartialObjectMetadata:
		r.SetHeader("Accept", acceptMetadata)
	case *metav1.PartialObjectMetadataList:
		r.SetHeader("Accept", acceptMetadataList)
	}
	return addParams(r, options)
}

func groupVersionPath(g schema.GroupVersion) string {
	if g.Group == "" {
		return "/api/" + g.Version
	}
	return "/apis/" + g.Group + "/" + g.Version
}

func addParams(r *rest.Request, options any) (*rest.Request, error) {
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

// decodeAnswer reads an answer into a value. An error includes the API server's message.
func decodeAnswer(answer rest.Result, value any) error {
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	if err := utiljson.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	return nil
}

// ErrInvalidAnswer means that an answer does not fit the type into which it is read.
var ErrInvalidAnswer = errors.New("reading the answer of the API server")
