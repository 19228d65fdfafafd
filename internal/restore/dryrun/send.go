package dryrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/session"
)

// DefaultQPS is the number of requests a second that are sent unless the user sets another.
const DefaultQPS = 50

const answerTimeout = 90 * time.Second // more than the 60 s that the API server gives a request by default

// ErrReadOnly says why nothing is sent in read-only mode.
var ErrReadOnly = errors.New("veltui runs read-only and sends no dry run: the API server would treat it as a write")

// ServiceAccount is a service account.
type ServiceAccount struct{ Namespace, Name string }

// UserName returns the name by which the API server knows a service account.
func (a ServiceAccount) UserName() string {
	return "system:serviceaccount:" + a.Namespace + ":" + a.Name
}

// Options configure a [Sender].
type Options struct {
	Config   *rest.Config
	ReadOnly bool
	QPS      int            // requests a second; 0 is [DefaultQPS]
	Velero   ServiceAccount // Velero's service account, zero if unknown
}

// Sender sends objects with dryRun=All, and nothing that could be stored.
type Sender struct {
	AsVelero        bool
	User            string // the user whose rights and policies the answers are about
	NotVeleroReason string // why the answers are not about Velero's service account
	client          *client.Client

	mu       sync.Mutex
	openAPIs map[schema.GroupVersion]openAPIDocument
	byUser   map[string]bool // whether a policy may decide by the user
}

// NewSender makes a Sender that impersonates Velero's service account where the user may.
func NewSender(ctx context.Context, o Options) (*Sender, error) {
	if o.ReadOnly {
		return nil, ErrReadOnly
	}
	s := &Sender{openAPIs: map[schema.GroupVersion]openAPIDocument{}, byUser: map[string]bool{}}
	config := rest.CopyConfig(o.Config)
	config.WarningHandler = rest.NoWarnings{} // warnings carry the objects' own text
	config.Timeout = 0
	config.QPS = float32(cmp.Or(o.QPS, DefaultQPS))
	config.Burst = max(1, int(config.QPS)/5)
	if err := s.connect(config); err != nil {
		return nil, err
	}
	if s.NotVeleroReason = s.impersonationUnavailable(ctx, config, o.Velero); s.NotVeleroReason != "" {
		return s, ctx.Err()
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: o.Velero.UserName(),
	} // the API server adds the account's groups
	s.AsVelero, s.User = true, o.Velero.UserName()
	return s, s.connect(config)
}

func (s *Sender) connect(config *rest.Config) (err error) {
	over, err := session.HTTPClient(config, session.TransportOptions{SilenceTimeout: answerTimeout,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { return dryRunOnlyTransport{next} }})
	if err != nil {
		return err
	}
	s.client, err = client.New(config, over, nil)
	return err
}

// impersonationUnavailable returns why the user may not impersonate an account, empty if the user may.
func (s *Sender) impersonationUnavailable(ctx context.Context, config *rest.Config, account ServiceAccount) string {
	s.User = "you"
	if user, err := s.client.CurrentUser(ctx); err == nil {
		s.User = user.Username
	}
	switch {
	case config.Impersonate.UserName != "":
		s.User = config.Impersonate.UserName
		return "veltui impersonates " + config.Impersonate.UserName + " already"
	case account.Name == "" || account.Namespace == "":
		return "the service account of Velero's server is unknown"
	}
	answer, err := s.client.CheckAccess(
		ctx,
		authorizationv1.ResourceAttributes{
			Verb:      "impersonate",
			Resource:  "serviceaccounts",
			Namespace: account.Namespace,
			Name:      account.Name,
		},
	)
	switch {
	case err != nil:
		return "asking for the right to impersonate it: " + err.Error()
	case !answer.Allowed:
		return "you may not impersonate it"
	}
	return ""
}

// dryRunOnlyTransport refuses every write that is not a dry run, whoever sends it.
type dryRunOnlyTransport struct{ next http.RoundTripper }

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t dryRunOnlyTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t dryRunOnlyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	dry := slices.Equal(r.URL.Query()["dryRun"], []string{metav1.DryRunAll})
	review := strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") ||
		strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") // stored nowhere
	switch {
	case r.Method == http.MethodGet,
		r.Method == http.MethodPost && (dry || review),
		r.Method == http.MethodPatch && dry:
		return t.next.RoundTrip(r)
	}
	return nil, fmt.Errorf("%s %s is no dry run, and was not sent", r.Method, r.URL.Path)
}

// createObject sends an object, and returns the body of the answer, even for an error.
func (s *Sender) createObject(
	ctx context.Context,
	at schema.GroupVersionResource,
	o *unstructured.Unstructured,
) ([]byte, error) {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return rawAnswer(s.newRequest(http.MethodPost, at, o.GetNamespace()).Body(data).Do(ctx))
}

// patchObject sends a merge patch of an object, and returns the body of the answer, even for an error.
func (s *Sender) patchObject(
	ctx context.Context,
	at schema.GroupVersionResource,
	namespace, name string,
	patch []byte,
) ([]byte, error) {
	return rawAnswer(
		s.newRequest(http.MethodPatch, at, namespace).
			Name(name).
			Body(patch).
			SetHeader("Content-Type", string(types.MergePatchType)).
			Do(ctx),
	)
}

// listObjects reads all objects of a resource in the cluster into a value.
func (s *Sender) listObjects(ctx context.Context, at schema.GroupVersionResource, into any) error {
	data, err := rawAnswer(s.newRequest(http.MethodGet, at, "").Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// listLabelled reads the objects of a resource that bear a label; an empty namespace stands for the whole cluster.
func (s *Sender) listLabelled(ctx context.Context, at schema.GroupVersionResource, namespace, label, value string,
) (*unstructured.UnstructuredList, error) {
	found := &unstructured.UnstructuredList{}
	selector := labels.SelectorFromSet(labels.Set{label: value}).String()
	data, err := rawAnswer(s.newRequest(http.MethodGet, at, namespace).Param("labelSelector", selector).Do(ctx))
	if err != nil {
		return nil, err
	}
	return found, found.UnmarshalJSON(data)
}

// getObject reads an object as it is.
func (s *Sender) getObject(
	ctx context.Context,
	at schema.GroupVersionResource,
	namespace, name string,
) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	data, err := rawAnswer(s.newRequest(http.MethodGet, at, namespace).Name(name).Do(ctx))
	if err != nil {
		return nil, err
	}
	return o, o.UnmarshalJSON(data)
}

func (s *Sender) newRequest(verb string, at schema.GroupVersionResource, namespace string) *rest.Request {
	root := "/apis/" + at.Group + "/" + at.Version
	if at.Group == "" {
		root = "/api/" + at.Version
	}
	r := s.client.REST.Verb(verb).AbsPath(root).Resource(at.Resource)
	if namespace != "" {
		r.Namespace(namespace)
	}
	if verb != http.MethodGet {
		r.Param("dryRun", metav1.DryRunAll)
	}
	return r
}

// rawAnswer returns an answer's body, and the API server's error.
func rawAnswer(answer rest.Result) ([]byte, error) {
	data, err := answer.Raw()
	if said := answer.Error(); said != nil {
		err = said
	}
	return data, err
}

// openAPIDocument is the OpenAPI document of one version of a group.
type openAPIDocument struct {
	Paths map[string]map[string]json.RawMessage
	err   error
}

// checkDryRunSupport returns an error if a dry run of a resource might be stored. An aggregated API server may not
// support dryRun; servers that do say so in their OpenAPI document, which kubectl relies on as well
// (k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go).
func (s *Sender) checkDryRunSupport(ctx context.Context, at schema.GroupVersionResource) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := at.GroupVersion()
	said, known := s.openAPIs[group]
	if !known {
		data, err := rawAnswer(s.client.REST.Get().AbsPath("/openapi/v3/apis/" + group.String()).Do(ctx))
		if err == nil {
			err = json.Unmarshal(data, &said)
		}
		if said.err = err; ctx.Err() != nil {
			return ctx.Err()
		}
		s.openAPIs[group] = said
	}
	if said.err != nil {
		return fmt.Errorf("whether the API server of %s knows dry runs is unknown: %w", group, said.err)
	}
	for _, space := range []string{"/namespaces/{namespace}", ""} {
		var post struct{ Parameters []struct{ Name string } }
		operation := said.Paths["/apis/"+group.String()+space+"/"+at.Resource]["post"]
		if json.Unmarshal(operation, &post) == nil &&
			slices.ContainsFunc(post.Parameters, func(p struct{ Name string }) bool { return p.Name == "dryRun" }) {
			return nil
		}
	}
	return fmt.Errorf("the API server of %s does not say that it knows dry runs", group)
}
