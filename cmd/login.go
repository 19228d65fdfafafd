package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/session"
)

const loginPatience = 30 * time.Second

// login runs credential plugins while they can still ask on the terminal.
func (c *connector) login(ctx context.Context, contexts []string) error {
	for _, name := range contexts {
		conn, err := c.withContext(name, "").connect()
		switch {
		case err != nil && len(contexts) == 1:
			return err
		case err != nil || conn.Config.ExecProvider == nil:
			continue // that it cannot be used, the dashboard shows
		case len(contexts) == 1:
			if err := loginTo(ctx, conn.Config, conn.Context); err != nil {
				return err
			}
		default:
			_ = runPlugin(ctx, conn)
		}
		c.logins.note(conn.Config)
	}
	return nil
}

func runPlugin(ctx context.Context, conn inspect.Connection) error {
	config := rest.CopyConfig(conn.Config)
	config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errNotNow }
	return loginTo(ctx, config, conn.Context)
}

var errNotNow = errors.New("veltui does not connect while it logs in")

func loginTo(ctx context.Context, config *rest.Config, name string) error {
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return err
	}
	c, err := client.New(config, over, nil)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	_, err = c.REST.Get().AbsPath("/version").DoRaw(ctx)
	if apierrors.IsUnauthorized(err) || err != nil && strings.Contains(err.Error(), "getting credentials") {
		return fmt.Errorf("logging in to context %s: %w", name, err)
	}
	return nil // anything else the dashboard shows, and tries again
}

// logins keep credential plugins from the keyboard once the dashboard has it. The zero value is
// ready.
//
// client-go keeps one authenticator for all equal configurations (plugin/pkg/client/auth/exec/
// exec.go, cacheKey), and asks the first of them before each run (isInteractive). So an earlier
// login remains in use, and only the configuration that it holds is changed.
type logins struct {
	mu    sync.Mutex
	taken bool
	made  []login
}

type login struct {
	host string
	exec clientcmdapi.ExecConfig
	held *clientcmdapi.ExecConfig
}

func (l *logins) note(config *rest.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, login{config.Host, *config.ExecProvider, config.ExecProvider})
}

func (l *logins) takeKeyboard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = true
	for _, made := range l.made {
		withoutKeyboard(made.held)
	}
}

func withoutKeyboard(exec *clientcmdapi.ExecConfig) {
	exec.StdinUnavailable, exec.StdinUnavailableMessage = true, "the dashboard has the keyboard; to log in, quit veltui and start it again"
}

// guard keeps the plugin of a configuration from the keyboard, unless it logged in before.
func (l *logins) guard(config *rest.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.taken || config.ExecProvider == nil {
		return
	}
	for _, made := range l.made {
		if made.host == config.Host && reflect.DeepEqual(made.exec, *config.ExecProvider) {
			return
		}
	}
	config.ExecProvider = config.ExecProvider.DeepCopy()
	withoutKeyboard(config.ExecProvider)
}

// silent logs in to a new context without questions. The error says what to do first.
func (l *logins) silent(ctx context.Context, conn inspect.Connection) error {
	exec := conn.Config.ExecProvider
	if exec == nil || !exec.StdinUnavailable {
		return nil
	}
	if exec.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return fmt.Errorf("its credential plugin %s asks on the terminal, where the dashboard is (interactiveMode: Always); quit veltui and start it with --context %s", exec.Command, conn.Context)
	}
	if err := runPlugin(ctx, conn); err != nil {
		return fmt.Errorf("%w; if the plugin has to ask you something, first run in another terminal: kubectl --context %s get --raw /version", err, conn.Context)
	}
	return nil
}
