package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/sanitize"
)

type Options struct {
	// Load reads the kubeconfig as it is now. Several goroutines may call it at once.
	Load    func() (*rest.Config, error)
	Context string // of the kubeconfig, for messages
	// Clock is the one that the API server's is compared with; nil for time.Now.
	Clock func() time.Time
}

// Session is the connection to the one cluster that it was opened for. Several goroutines may use it.
type Session struct {
	options Options
	meter   *Meter

	mu       sync.Mutex
	config   *rest.Config
	identity Identity
}

type MovedError struct{ Context, Difference string }

func (e *MovedError) Error() string {
	return fmt.Sprintf(
		"context %s leads to another cluster now: %s. Start veltui again to use that one",
		e.Context,
		e.Difference,
	)
}

type OtherUserError struct{ Was, Is string }

func (e *OtherUserError) Error() string {
	return fmt.Sprintf("the credentials are those of %s now, no longer of %s", e.Is, e.Was)
}

// New opens a session for the cluster of the kubeconfig. It sends no request.
func New(o Options) (*Session, error) {
	s := &Session{options: o, meter: NewMeter(o.Clock)}
	var err error
	if s.config, s.identity, err = s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) read() (*rest.Config, Identity, error) {
	config, err := s.options.Load()
	if err != nil {
		return nil, Identity{}, err
	}
	return pin(config)
}

// Config has the credentials as they are now.
func (s *Session) Config() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rest.CopyConfig(s.config)
}

// Meter measures what the session's own requests cost, and the API server's clock.
func (s *Session) Meter() *Meter { return s.meter }

// Identity returns what is known of the cluster without a request.
func (s *Session) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

const requestTimeout = 15 * time.Second

// Identify returns the cluster's identity. The first call reads the uid of kube-system; where it
// may not be read, URL and authority are the identity.
func (s *Session) Identify(ctx context.Context) (Identity, error) {
	if id := s.Identity(); id.Identified() {
		return id, nil
	}
	return s.readIdentity(ctx)
}

// Check returns a [MovedError] if the kubeconfig, or the uid of kube-system, is another now.
func (s *Session) Check(ctx context.Context) error {
	if err := s.Moved(); err != nil {
		return err
	}
	_, err := s.readIdentity(ctx)
	return err
}

func (s *Session) readIdentity(ctx context.Context) (Identity, error) {
	uid, err := s.readUID(ctx)
	known := s.Identity().UID != ""
	switch {
	case !known && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.identity.UIDUnavailable = sanitize.String(err.Error())
		return s.identity, nil
	case apierrors.IsNotFound(err): // which says nothing of what the caller looks for
		return s.Identity(), errors.New(err.Error())
	case err != nil:
		return s.Identity(), err
	}
	err = s.Recognize(uid)
	return s.Identity(), err
}

// Recognize compares the uid of kube-system with the first.
func (s *Session) Recognize(uid types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.identity.UID == "" {
		s.identity.UID, s.identity.UIDUnavailable = uid, ""
	}
	now := s.identity
	now.UID = uid
	return s.compare(now)
}

// Moved reads the kubeconfig again, without a request, and returns a [MovedError] if it leads
// elsewhere. One that cannot be read leads nowhere else.
func (s *Session) Moved() error {
	_, now, err := s.read()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compare(now)
}

// compare returns a [MovedError] for another identity. The caller holds the lock.
func (s *Session) compare(now Identity) error {
	if difference := s.identity.Difference(now); difference != "" {
		return &MovedError{Context: s.options.Context, Difference: difference}
	}
	return nil
}

// Refresh reads the credentials again. If anything else changed, the session keeps those that it
// had and returns a [MovedError]. Whose they are is for the caller to ask.
func (s *Session) Refresh() error {
	config, now, err := s.read()
	if err != nil {
		return fmt.Errorf("renewing the credentials: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.compare(now); err != nil {
		return err
	}
	s.config = config
	return nil
}

func (s *Session) readUID(ctx context.Context) (types.UID, error) {
	config := s.Config()
	config.Timeout = requestTimeout
	over, err := HTTPClient(config, TransportOptions{Meter: s.meter, OneAttempt: true})
	if err != nil {
		return "", err
	}
	c, err := client.New(config, over, nil)
	if err != nil {
		return "", err
	}
	namespace, err := c.Namespace(ctx, metav1.NamespaceSystem)
	if err != nil {
		return "", fmt.Errorf("identifying the cluster: %w", err)
	}
	if namespace.UID == "" {
		return "", errors.New("identifying the cluster: namespace kube-system has no uid")
	}
	return namespace.UID, nil
}
