package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	runtimelog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Create creates an object, and reads the API server's answer into it.
func (c *Client) Create(ctx context.Context, o Object, options metav1.CreateOptions) error {
	return c.sendWrite(o, func(writer runtimeclient.Client, m *rawObject) error {
		return writer.Create(ctx, m, &runtimeclient.CreateOptions{
			DryRun:          options.DryRun,
			FieldManager:    options.FieldManager,
			FieldValidation: options.FieldValidation,
		})
	})
}

// Patch sends a patch of an object unchanged, and reads the API server's answer into the object.
func (c *Client) Patch(
	ctx context.Context,
	o Object,
	kind types.PatchType,
	patch []byte,
	options metav1.PatchOptions,
) error {
	return c.sendWrite(o, func(writer runtimeclient.Client, m *rawObject) error {
		return writer.Patch(ctx, m, runtimeclient.RawPatch(kind, patch), &runtimeclient.PatchOptions{
			DryRun:          options.DryRun,
			Force:           options.Force,
			FieldManager:    options.FieldManager,
			FieldValidation: options.FieldValidation,
		})
	})
}

// CheckAccess asks the API server whether the user has a right.
func (c *Client) CheckAccess(
	ctx context.Context,
	right authorizationv1.ResourceAttributes,
) (authorizationv1.SubjectAccessReviewStatus, error) {
	review := authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	review.SetGroupVersionKind(accessReviewGVK)
	err := c.Create(ctx, &review, metav1.CreateOptions{})
	return review.Status, err
}

// CurrentUser returns the user as the API server identifies them.
func (c *Client) CurrentUser(ctx context.Context) (authenticationv1.UserInfo, error) {
	var review authenticationv1.SelfSubjectReview
	review.SetGroupVersionKind(userReviewGVK)
	err := c.Create(ctx, &review, metav1.CreateOptions{})
	return review.Status.UserInfo, err
}

var (
	accessReviewGVK = authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview")
	userReviewGVK   = authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview")
)

// withReviews returns the mapper extended by the reviews.
func withReviews(mapper meta.RESTMapper) meta.RESTMapper {
	reviews := meta.NewDefaultRESTMapper(nil)
	reviews.Add(accessReviewGVK, meta.RESTScopeRoot)
	reviews.Add(userReviewGVK, meta.RESTScopeRoot)
	if mapper == nil {
		return reviews
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{reviews, mapper}}
}

// rawObject carries an object to controller-runtime and the answer back, both as exact JSON. Without it, an
// unstructured object would be sent in the encoding that client-go's feature gates name (ClientsPreferCBOR), and a
// typed object would come back without its apiVersion and kind, and without fields that its type does not have.
type rawObject struct {
	Object // nil once a successful answer is being read: controller-runtime resets the object it reads into
	answer []byte
}

// GetObjectKind returns the kind of the object. It is a dummy once the message was reset: decoders clear the kind of
// such an object.
func (m *rawObject) GetObjectKind() schema.ObjectKind {
	if m.Object == nil {
		return schema.EmptyObjectKind
	}
	return m.Object.GetObjectKind()
}

// DeepCopyObject makes a message a [runtime.Object].
func (m *rawObject) DeepCopyObject() runtime.Object {
	return &rawObject{Object: m.Object.DeepCopyObject().(Object), answer: bytes.Clone(m.answer)}
}

// MarshalJSON returns the object as it is.
func (m *rawObject) MarshalJSON() ([]byte, error) { return json.Marshal(m.Object) }

// UnmarshalJSON keeps the answer for [rawObject.decodeInto].
func (m *rawObject) UnmarshalJSON(data []byte) error {
	m.answer = bytes.Clone(data)
	return nil
}

// decodeInto replaces an object by the answer. An answer that does not fit leaves the object as it was.
func (m *rawObject) decodeInto(o Object) error {
	into := reflect.ValueOf(o).Elem()
	read := reflect.New(into.Type())
	if err := utiljson.Unmarshal(m.answer, read.Interface()); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
	}
	into.Set(read.Elem())
	return nil
}

// sendWrite sends a message about an object, and reads the answer into the object.
func (c *Client) sendWrite(o Object, send func(runtimeclient.Client, *rawObject) error) error {
	writer, err := c.writerFor(o.GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	m := &rawObject{Object: o}
	err = send(writer, m)
	switch {
	case err == nil && m.answer != nil:
		return m.decodeInto(o)
	case err == nil:
		return fmt.Errorf("%w: %w", ErrInvalidAnswer, errOtherKind)
	case m.Object == nil:
		// The API server accepted the request, whatever its answer looks like: a Status in it is no refusal.
		return fmt.Errorf("%w: %v", ErrInvalidAnswer, err)
	}
	return err
}

var errOtherKind = errors.New("it is about something else than the request")

// writerFor returns controller-runtime's client for objects of a kind. It creates the client for the first write: most
// commands only read. Each kind has a client of its own because controller-runtime learns an object's kind from its
// Go type, which is [rawObject] for all of them.
func (c *Client) writerFor(kind schema.GroupVersionKind) (runtimeclient.Client, error) {
	if _, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if writer := c.writers[kind]; writer != nil {
		return writer, nil
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(kind, &rawObject{})
	metav1.AddToGroupVersion(scheme, kind.GroupVersion())
	writer, err := runtimeclient.New(c.config, runtimeclient.Options{
		HTTPClient: c.httpClient,
		Scheme:     scheme,
		Mapper:     c.mapper,
		Log:        logr.New(runtimelog.NullLogSink{}), // the default complains on standard error after 30 s
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	c.writers[kind] = writer
	return writer, nil
}

// writerConfig returns the configuration of controller-runtime's clients: JSON regardless of client-go's feature
// gates, and one request budget shared with the REST client.
func writerConfig(config *rest.Config, reader rest.Interface) *rest.Config {
	config = rest.CopyConfig(config)
	config.RateLimiter = reader.GetRateLimiter()
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandlerWithContext = rest.WarningLogger{} // the REST client logs warnings this way, too
	}
	return config
}
