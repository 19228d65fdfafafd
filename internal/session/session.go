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
	// LoadConfig reads the kubeconfig as it is now. Several goroutines may call it at once.
	LoadConfig func() (*rest.Config, error)
	Context    string // the kubeconfig's context, for messages
	// Clock is compared with the API server's clock; nil means time.Now.
	Clock func() time.Time
}

// Session is the connection to the cluster for which it was opened. Several goroutines may use it.
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

type UserChangedError struct{ OldUser, NewUser string }

func (e *UserChangedError) Error() string {
	return fmt.Sprintf("the credentials are those of %s now, no longer of %s", e.NewUser, e.OldUser)
}

// New opens a session for the cluster of the kubeconfig. It sends no request.
func New(o Options) (*Session, error) {
	s := &Session{options: o, meter: NewMeter(o.Clock)}
	var err error
	if s.config, s.identity, err = s.loadConfig(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) loadConfig() (*rest.Config, Identity, error) {
	config, err := s.options.LoadConfig()
	if err != nil {
		return nil, Identity{}, err
	}
	return pinConfig(config)
}

// RESTConfig returns a configuration with the current credentials.
func (s *Session) RESTConfig() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rest.CopyConfig(s.config)
}

// Meter returns the meter of the session's own requests and of the API server's clock.
func (s *Session) Meter() *Meter { return s.meter }

// Identity returns the identity as far as it is known, without a request.
func (s *Session) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

const requestTimeout = 15 * time.Second

// Identify returns the cluster's identity. The first call reads the uid of kube-system; if it may not be read, the
// URL and the authority are the identity.
func (s *Session) Identify(ctx context.Context) (Identity, error) {
	if id := s.Identity(); id.IsIdentified() {
		return id, nil
	}
	return s.readIdentity(ctx)
}

// CheckCluster returns a [MovedError] if the kubeconfig leads elsewhere now, or the uid of kube-system has changed.
func (s *Session) CheckCluster(ctx context.Context) error {
	if err := s.CheckKubeconfig(); err != nil {
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
	case apierrors.IsNotFound(err): // hide the status: callers would take it for their own object's absence
		return s.Identity(), errors.New(err.Error())
	case err != nil:
		return s.Identity(), err
	}
	err = s.CheckUID(uid)
	return s.Identity(), err
}

// CheckUID compares the uid of kube-system with the first one seen.
func (s *Session) CheckUID(uid types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.identity.UID == "" {
		s.identity.UID, s.identity.UIDUnavailable = uid, ""
	}
	now := s.identity
	now.UID = uid
	return s.compareIdentity(now)
}

// CheckKubeconfig reads the kubeconfig again, without a request, and returns a [MovedError] if it leads elsewhere. An
// unreadable kubeconfig counts as unchanged.
func (s *Session) CheckKubeconfig() error {
	_, now, err := s.loadConfig()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compareIdentity(now)
}

// compareIdentity returns a [MovedError] for another identity. The caller holds the lock.
func (s *Session) compareIdentity(now Identity) error {
	if difference := s.identity.Difference(now); difference != "" {
		return &MovedError{Context: s.options.Context, Difference: difference}
	}
	return nil
}

// RefreshCredentials reads the credentials again. If anything else changed, the session keeps its old ones and
// returns a [MovedError]. The caller must check whose credentials they are.
func (s *Session) RefreshCredentials() error {
	config, now, err := s.loadConfig()
	if err != nil {
		return fmt.Errorf("renewing the credentials: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.compareIdentity(now); err != nil {
		return err
	}
	s.config = config
	return nil
}

func (s *Session) readUID(ctx context.Context) (types.UID, error) {
	config := s.RESTConfig()
	config.Timeout = requestTimeout
	over, err := HTTPClient(config, TransportOptions{Meter: s.meter, DisableRetries: true})
	if err != nil {
		return "", err
	}
	c, err := client.New(config, over, nil)
	if err != nil {
		return "", err
	}
	namespace, err := c.GetNamespace(ctx, metav1.NamespaceSystem)
	if err != nil {
		return "", fmt.Errorf("identifying the cluster: %w", err)
	}
	if namespace.UID == "" {
		return "", errors.New("identifying the cluster: namespace kube-system has no uid")
	}
	return namespace.UID, nil
}
