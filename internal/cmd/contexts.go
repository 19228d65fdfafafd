package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/session"
)

// contexts are those that --context and --all-contexts name, each once: in the order given, of a
// glob by name. By default it is the current one, empty where none is in use. A context named
// like a list or a glob is that context.
func (c *connector) contexts() ([]string, error) {
	raw, err := c.kubeconfig()
	if err != nil {
		return nil, err
	}
	asked := c.flags.CurrentContext
	switch {
	case c.allContexts && asked != "":
		return nil, usagef("--all-contexts and --context %s: give only one of them", asked)
	case c.allContexts:
		asked = "*"
	case asked == "":
		return []string{raw.CurrentContext}, nil
	case c.exactContext:
		// A context that is gone must not become another one that its name fits.
		return []string{asked}, nil
	}
	named, err := namedContexts(contextNames(raw), asked)
	if err != nil {
		return nil, err
	}
	if flag := c.flagOfOneCluster(); len(named) > 1 && flag != "" {
		return nil, usagef("%s is about one cluster only; give it with a single --context", flag)
	}
	return named, nil
}

// flagOfOneCluster returns a given flag that names one cluster or holds its secret.
func (c *connector) flagOfOneCluster() string {
	for _, name := range []string{"server", "cluster", "token", "user", "client-certificate", "client-key"} {
		if c.flags.Set.Lookup(name).Value.String() != "" {
			return "--" + name
		}
	}
	return ""
}

func contextNames(raw *clientcmdapi.Config) []string {
	return slices.Sorted(maps.Keys(raw.Contexts))
}

func namedContexts(known []string, asked string) (named []string, err error) {
	if slices.Contains(known, asked) {
		return []string{asked}, nil
	}
	for word := range strings.SplitSeq(asked, ",") {
		found, err := contextsLike(known, strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		named = appendNew(named, found...)
	}
	return named, nil
}

func mapSlice[T, U any](list []T, f func(T) U) []U {
	made := make([]U, len(list))
	for i, v := range list {
		made[i] = f(v)
	}
	return made
}

func appendNew[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func contextsLike(known []string, word string) ([]string, error) {
	switch {
	case word == "":
		return nil, usagef("--context has an empty name")
	case slices.Contains(known, word):
		return []string{word}, nil
	case !glob.Special(word):
		return nil, noContext(known, fmt.Sprintf("no context %q in the kubeconfig", word), word)
	}
	pattern, err := glob.Compile(word)
	if err != nil {
		return nil, usagef("--context %s: %w", word, err)
	}
	var found []string
	for _, name := range known {
		if matches, _, _ := pattern.Match(
			name,
			globSteps,
		); matches { // a name that takes too many steps is not what was meant
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil, noContext(known, fmt.Sprintf("no context in the kubeconfig matches %q", word), "")
	}
	return found, nil
}

const globSteps = 100_000

const maxContextsNamed = 10

// noContext says which contexts there are: those that look like the word, else all.
func noContext(known []string, problem, word string) error {
	if len(known) == 0 {
		return fmt.Errorf("%s: it has no contexts", problem)
	}
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range known {
		names.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if like := names.SuggestionsFor(word); word != "" && len(like) > 0 && len(like) < len(known) {
		return fmt.Errorf("%s; did you mean %s?", problem, strings.Join(like[:min(3, len(like))], " or "))
	}
	return fmt.Errorf("%s; it has %s", problem, human.List(known, maxContextsNamed))
}

func (c *connector) oneContext() (string, error) {
	named, err := c.contexts()
	if err != nil {
		return "", err
	}
	if len(named) > 1 {
		flag := "--context " + c.flags.CurrentContext
		if c.allContexts {
			flag = "--all-contexts"
		}
		return "", usagef(
			"this needs one context, and %s names %d; give one of them, such as --context %s",
			flag,
			len(named),
			named[0],
		)
	}
	return named[0], nil
}

// kubeconfig reads the kubeconfig as it is now. It fails where nothing names a cluster.
func (c *connector) kubeconfig() (*clientcmdapi.Config, error) {
	raw, err := c.flags.Loader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	elsewhere := c.flags.ClusterInfo.Server + c.env("KUBERNETES_SERVICE_HOST") + c.env("KUBERNETES_MASTER")
	if clientcmdapi.IsConfigEmpty(&raw) && elsewhere == "" {
		return nil, errNoCluster
	}
	return &raw, nil
}

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

func runPlugin(ctx context.Context, conn cluster.Connection) error {
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

// logins keep credential plugins from the keyboard once the dashboard has it. The zero value is ready.
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
	exec.StdinUnavailable = true
	exec.StdinUnavailableMessage = "the dashboard has the keyboard; to log in, quit veltui and start it again"
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
func (l *logins) silent(ctx context.Context, conn cluster.Connection) error {
	exec := conn.Config.ExecProvider
	if exec == nil || !exec.StdinUnavailable {
		return nil
	}
	if exec.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return fmt.Errorf(
			"its credential plugin %s asks on the terminal, where the dashboard is (interactiveMode: Always); quit "+
				"veltui and start it with --context %s",
			exec.Command,
			conn.Context,
		)
	}
	if err := runPlugin(ctx, conn); err != nil {
		return fmt.Errorf(
			"%w; if the plugin has to ask you something, first run in another terminal: kubectl --context %s get --raw /version",
			err,
			conn.Context,
		)
	}
	return nil
}
