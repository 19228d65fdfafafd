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

// DefaultQPS is how many requests a second are sent unless the user says otherwise.
const DefaultQPS = 50

const silence = 90 * time.Second // more than the API server gives a request, 60 s by default

// ErrReadOnly is why nothing is sent in read-only mode.
var ErrReadOnly = errors.New("veltui runs read-only and sends no dry run: the API server would treat it as a write")

// Account is a service account.
type Account struct{ Namespace, Name string }

// User is the name by which the API server knows a service account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Options say how a [Sender] asks.
type Options struct {
	Config   *rest.Config
	ReadOnly bool
	QPS      int     // requests a second; 0 is [DefaultQPS]
	Velero   Account // Velero's service account, zero if that is not known
}

// Sender sends objects with dryRun=All, and nothing that could be stored.
type Sender struct {
	AsVelero bool
	Who      string // whose rights and policies the answers are about
	WhyNot   string // why they are not about Velero's service account
	client   *client.Client

	mu      sync.Mutex
	honours map[schema.GroupVersion]openAPI
	byUser  map[string]bool // the policies that may decide by the user
}

// NewSender makes a Sender that impersonates Velero's service account where the user may.
func NewSender(ctx context.Context, o Options) (*Sender, error) {
	if o.ReadOnly {
		return nil, ErrReadOnly
	}
	s := &Sender{honours: map[schema.GroupVersion]openAPI{}, byUser: map[string]bool{}}
	config := rest.CopyConfig(o.Config)
	config.WarningHandler = rest.NoWarnings{} // the objects' own text
	config.Timeout = 0
	config.QPS = float32(cmp.Or(o.QPS, DefaultQPS))
	config.Burst = max(1, int(config.QPS)/5)
	if err := s.open(config); err != nil {
		return nil, err
	}
	if s.WhyNot = s.mayImpersonate(ctx, config, o.Velero); s.WhyNot != "" {
		return s, ctx.Err()
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: o.Velero.User()} // the API server adds the account's groups
	s.AsVelero, s.Who = true, o.Velero.User()
	return s, s.open(config)
}

func (s *Sender) open(config *rest.Config) (err error) {
	over, err := session.HTTPClient(config, session.TransportOptions{Silence: silence,
		Over: func(next http.RoundTripper) http.RoundTripper { return dryOnly{next} }})
	if err != nil {
		return err
	}
	s.client, err = client.New(config, over, nil)
	return err
}

// mayImpersonate returns why not, empty if the user may.
func (s *Sender) mayImpersonate(ctx context.Context, config *rest.Config, account Account) string {
	s.Who = "you"
	if user, err := s.client.User(ctx); err == nil {
		s.Who = user.Username
	}
	switch {
	case config.Impersonate.UserName != "":
		s.Who = config.Impersonate.UserName
		return "veltui impersonates " + config.Impersonate.UserName + " already"
	case account.Name == "" || account.Namespace == "":
		return "the service account of Velero's server is unknown"
	}
	answer, err := s.client.May(
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

// dryOnly refuses every write that is no dry run, whoever asks for it.
type dryOnly struct{ next http.RoundTripper }

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t dryOnly) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t dryOnly) RoundTrip(r *http.Request) (*http.Response, error) {
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

// create sends an object, and returns the body of the answer, also of an error.
func (s *Sender) create(
	ctx context.Context,
	at schema.GroupVersionResource,
	o *unstructured.Unstructured,
) ([]byte, error) {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return raw(s.request(http.MethodPost, at, o.GetNamespace()).Body(data).Do(ctx))
}

// patch sends a merge patch of an object, and returns the body of the answer, also of an error.
func (s *Sender) patch(
	ctx context.Context,
	at schema.GroupVersionResource,
	namespace, name string,
	patch []byte,
) ([]byte, error) {
	return raw(
		s.request(http.MethodPatch, at, namespace).
			Name(name).
			Body(patch).
			SetHeader("Content-Type", string(types.MergePatchType)).
			Do(ctx),
	)
}

// list reads all objects of a resource of the cluster into a value.
func (s *Sender) list(ctx context.Context, at schema.GroupVersionResource, into any) error {
	data, err := raw(s.request(http.MethodGet, at, "").Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// listLabelled reads the objects of a resource that bear a label; the empty namespace stands for the whole cluster.
func (s *Sender) listLabelled(ctx context.Context, at schema.GroupVersionResource, namespace, label, value string,
) (*unstructured.UnstructuredList, error) {
	found := &unstructured.UnstructuredList{}
	selector := labels.SelectorFromSet(labels.Set{label: value}).String()
	data, err := raw(s.request(http.MethodGet, at, namespace).Param("labelSelector", selector).Do(ctx))
	if err != nil {
		return nil, err
	}
	return found, found.UnmarshalJSON(data)
}

// get reads an object as it is.
func (s *Sender) get(
	ctx context.Context,
	at schema.GroupVersionResource,
	namespace, name string,
) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	data, err := raw(s.request(http.MethodGet, at, namespace).Name(name).Do(ctx))
	if err != nil {
		return nil, err
	}
	return o, o.UnmarshalJSON(data)
}

func (s *Sender) request(verb string, at schema.GroupVersionResource, namespace string) *rest.Request {
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

// raw returns an answer's body, and what the API server says of an error.
func raw(answer rest.Result) ([]byte, error) {
	data, err := answer.Raw()
	if said := answer.Error(); said != nil {
		err = said
	}
	return data, err
}

// openAPI is what a version of a group says of its requests.
type openAPI struct {
	Paths map[string]map[string]json.RawMessage
	err   error
}

// honoursDryRun returns an error if a dry run of a resource might be stored. An aggregated API server may know no
// dryRun; those that do say so in their OpenAPI document, by which kubectl goes as well
// (k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go).
func (s *Sender) honoursDryRun(ctx context.Context, at schema.GroupVersionResource) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := at.GroupVersion()
	said, known := s.honours[group]
	if !known {
		data, err := raw(s.client.REST.Get().AbsPath("/openapi/v3/apis/" + group.String()).Do(ctx))
		if err == nil {
			err = json.Unmarshal(data, &said)
		}
		if said.err = err; ctx.Err() != nil {
			return ctx.Err()
		}
		s.honours[group] = said
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
