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

// resolveContexts returns the contexts that --context and --all-contexts name, each once: in the given order, and
// sorted by name for a glob. By default it returns the current context, which is empty if none is in use. A context
// whose name looks like a list or a glob is taken as that context.
func (c *connector) resolveContexts() ([]string, error) {
	raw, err := c.loadKubeconfig()
	if err != nil {
		return nil, err
	}
	asked := c.flags.CurrentContext
	switch {
	case c.allContexts && asked != "":
		return nil, usageErrorf("--all-contexts and --context %s: give only one of them", asked)
	case c.allContexts:
		asked = "*"
	case asked == "":
		return []string{raw.CurrentContext}, nil
	case c.exactContext:
		// If a context is gone, its name must not match another one.
		return []string{asked}, nil
	}
	named, err := matchContextList(contextNames(raw), asked)
	if err != nil {
		return nil, err
	}
	if flag := c.singleClusterFlag(); len(named) > 1 && flag != "" {
		return nil, usageErrorf("%s is about one cluster only; give it with a single --context", flag)
	}
	return named, nil
}

// singleClusterFlag returns a given flag that names one cluster or holds its secret.
func (c *connector) singleClusterFlag() string {
	for _, name := range []string{"server", "cluster", "token", "user", "client-certificate", "client-key"} {
		if c.flags.FlagSet.Lookup(name).Value.String() != "" {
			return "--" + name
		}
	}
	return ""
}

func contextNames(raw *clientcmdapi.Config) []string {
	return slices.Sorted(maps.Keys(raw.Contexts))
}

func matchContextList(known []string, asked string) (named []string, err error) {
	if slices.Contains(known, asked) {
		return []string{asked}, nil
	}
	for word := range strings.SplitSeq(asked, ",") {
		found, err := matchContextPattern(known, strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		named = appendUnique(named, found...)
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

func appendUnique[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func matchContextPattern(known []string, word string) ([]string, error) {
	switch {
	case word == "":
		return nil, usageErrorf("--context has an empty name")
	case slices.Contains(known, word):
		return []string{word}, nil
	case !glob.IsPattern(word):
		return nil, noContextError(known, fmt.Sprintf("no context %q in the kubeconfig", word), word)
	}
	pattern, err := glob.Compile(word)
	if err != nil {
		return nil, usageErrorf("--context %s: %w", word, err)
	}
	var found []string
	for _, name := range known {
		if matches, _, _ := pattern.Match(
			name,
			maxGlobSteps,
		); matches { // a name that takes too many steps does not match
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil, noContextError(known, fmt.Sprintf("no context in the kubeconfig matches %q", word), "")
	}
	return found, nil
}

const maxGlobSteps = 100_000

const maxContextsInError = 10

// noContextError says which contexts exist: those similar to the word, or else all.
func noContextError(known []string, problem, word string) error {
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
	return fmt.Errorf("%s; it has %s", problem, human.JoinNames(known, maxContextsInError))
}

func (c *connector) resolveSingleContext() (string, error) {
	named, err := c.resolveContexts()
	if err != nil {
		return "", err
	}
	if len(named) > 1 {
		flag := "--context " + c.flags.CurrentContext
		if c.allContexts {
			flag = "--all-contexts"
		}
		return "", usageErrorf(
			"this needs one context, and %s names %d; give one of them, such as --context %s",
			flag,
			len(named),
			named[0],
		)
	}
	return named[0], nil
}

// loadKubeconfig reads the present kubeconfig. It fails if nothing names a cluster.
func (c *connector) loadKubeconfig() (*clientcmdapi.Config, error) {
	raw, err := c.flags.Loader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	elsewhere := c.flags.ClusterInfo.Server +
		c.process.getenv("KUBERNETES_SERVICE_HOST") + c.process.getenv("KUBERNETES_MASTER")
	if clientcmdapi.IsConfigEmpty(&raw) && elsewhere == "" {
		return nil, errNoCluster
	}
	return &raw, nil
}

const loginTimeout = 30 * time.Second

// runLogins runs credential plugins while they can still ask on the terminal.
func (c *connector) runLogins(ctx context.Context, contexts []string) error {
	for _, name := range contexts {
		conn, err := c.withContext(name, "").openConnection()
		switch {
		case err != nil && len(contexts) == 1:
			return err
		case err != nil || conn.Config.ExecProvider == nil:
			continue // the dashboard shows why it cannot be used
		case len(contexts) == 1:
			if err := loginToCluster(ctx, conn.Config, conn.Context); err != nil {
				return err
			}
		default:
			_ = runCredentialPlugin(ctx, conn)
		}
		c.logins.recordLogin(conn.Config)
	}
	return nil
}

func runCredentialPlugin(ctx context.Context, conn cluster.Connection) error {
	config := rest.CopyConfig(conn.Config)
	config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errNoDial }
	return loginToCluster(ctx, config, conn.Context)
}

var errNoDial = errors.New("veltui does not connect while it logs in")

func loginToCluster(ctx context.Context, config *rest.Config, name string) error {
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return err
	}
	c, err := client.New(config, over, nil)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	_, err = c.REST.Get().AbsPath("/version").DoRaw(ctx)
	if apierrors.IsUnauthorized(err) || err != nil && strings.Contains(err.Error(), "getting credentials") {
		return fmt.Errorf("logging in to context %s: %w", name, err)
	}
	return nil // the dashboard shows any other error, and retries
}

// pluginLogins keeps credential plugins away from the keyboard once the dashboard owns it. The zero value is ready.
//
// client-go keeps one authenticator for all equal configurations (plugin/pkg/client/auth/exec/exec.go, cacheKey), and
// reads the first of these configurations before each run (isInteractive). So an earlier login remains in use, and it
// is enough to change the configuration that it holds.
type pluginLogins struct {
	mu            sync.Mutex
	keyboardTaken bool
	records       []loginRecord
}

type loginRecord struct {
	host       string
	exec       clientcmdapi.ExecConfig
	cachedExec *clientcmdapi.ExecConfig
}

func (l *pluginLogins) recordLogin(config *rest.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, loginRecord{config.Host, *config.ExecProvider, config.ExecProvider})
}

func (l *pluginLogins) takeKeyboard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keyboardTaken = true
	for _, made := range l.records {
		disableKeyboard(made.cachedExec)
	}
}

func disableKeyboard(exec *clientcmdapi.ExecConfig) {
	exec.StdinUnavailable = true
	exec.StdinUnavailableMessage = "the dashboard has the keyboard; to log in, quit veltui and start it again"
}

// guardKeyboard keeps the plugin of a configuration away from the keyboard, unless it logged in before.
func (l *pluginLogins) guardKeyboard(config *rest.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.keyboardTaken || config.ExecProvider == nil {
		return
	}
	for _, made := range l.records {
		if made.host == config.Host && reflect.DeepEqual(made.exec, *config.ExecProvider) {
			return
		}
	}
	config.ExecProvider = config.ExecProvider.DeepCopy()
	disableKeyboard(config.ExecProvider)
}

// loginSilently logs in to a new context without questions. The error says what to do first.
func (l *pluginLogins) loginSilently(ctx context.Context, conn cluster.Connection) error {
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
	if err := runCredentialPlugin(ctx, conn); err != nil {
		return fmt.Errorf(
			"%w; if the plugin has to ask you something, first run in another terminal: kubectl --context %s get --raw /version",
			err,
			conn.Context,
		)
	}
	return nil
}
