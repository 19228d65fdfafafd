package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/watch"
)

type connector struct {
	process           *processEnv
	flags             *session.Flags
	allContexts       bool
	allNamespaces     bool
	exactContext      bool // one name, neither a list nor a glob
	warnings          *session.Warnings
	logins            *pluginLogins
	pinned            *pinnedSession
	writeFailures     *session.WriteFailures
	pendingRequests   *atomic.Int64 // DownloadRequests that still exist in a cluster
	otherVelerosNotes sync.Map      // the notes that there are other Veleros, as keys
}

func newConnector(p *processEnv) *connector {
	return &connector{
		process:         p,
		flags:           session.NewFlags(),
		warnings:        &session.Warnings{},
		logins:          &pluginLogins{},
		pinned:          &pinnedSession{},
		pendingRequests: &atomic.Int64{},
		writeFailures:   &session.WriteFailures{Clock: func() time.Time { return p.clock() }},
	}
}

const inClusterContext = "in-cluster" // the context's name if no kubeconfig names one

// openConnection reads the kubeconfig of the single named context, without a request, and pins that context.
func (c *connector) openConnection() (cluster.Connection, error) {
	context, err := c.resolveSingleContext()
	if err != nil {
		return cluster.Connection{}, err
	}
	raw, err := c.loadKubeconfig()
	if err != nil {
		return cluster.Connection{}, err
	}
	conn := cluster.Connection{Context: cmp.Or(context, inClusterContext)}
	if named := raw.Contexts[context]; named != nil {
		conn.Namespace, conn.Request.Context = named.Namespace, context
		if c.flags.CurrentContext != context || c.allContexts { // write only on a change: several may connect at once
			c.flags.CurrentContext, c.allContexts = context, false
		}
	}
	if conn.Session, err = c.openSession(); err != nil {
		return cluster.Connection{}, err
	}
	conn.Config = conn.Session.RESTConfig()
	conn.Request.Flags, conn.Request.Environment = c.connectionFlags()
	return conn, nil
}

// withContext returns a connector for another context and, unless it is empty, another namespace. The rest is shared.
func (c *connector) withContext(context, namespace string) *connector {
	return &connector{
		process:         c.process,
		flags:           c.flags.ForContext(context, namespace),
		exactContext:    true,
		warnings:        c.warnings,
		logins:          c.logins,
		pinned:          &pinnedSession{},
		writeFailures:   c.writeFailures,
		pendingRequests: c.pendingRequests,
	}
}

// errNoCluster replaces localhost:8080, which client libraries try by default.
var errNoCluster = errors.New("no cluster is configured: set KUBECONFIG, or give --kubeconfig FILE or --server URL")

// The limits of one command's clients; the API server's priority and fairness does the rest.
const clientQPS, clientBurst = 50, 100

type pinnedSession struct {
	mu      sync.Mutex
	session *session.Session
}

// openSession returns the session of the cluster that the context first led to, with the present credentials. It
// returns an error if the context now leads to another cluster.
func (c *connector) openSession() (*session.Session, error) {
	c.pinned.mu.Lock()
	defer c.pinned.mu.Unlock()
	if c.pinned.session != nil {
		var moved *session.MovedError
		if err := c.pinned.session.RefreshCredentials(); errors.As(err, &moved) {
			return nil, err
		}
		return c.pinned.session, nil // an unreadable kubeconfig leads to no other cluster
	}
	s, err := session.New(session.Options{
		LoadConfig: c.loadRESTConfig,
		Context:    cmp.Or(c.flags.CurrentContext, inClusterContext),
		Clock:      func() time.Time { return c.process.clock() },
	})
	if err != nil {
		return nil, err
	}
	c.pinned.session = s
	return s, nil
}

// checkSameCluster returns an error if the context now leads to another cluster.
func (p *pinnedSession) checkSameCluster() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil {
		return nil
	}
	return p.session.CheckKubeconfig()
}

// explainError adds to an error that the context now leads to another cluster, whose credentials do not fit.
func (p *pinnedSession) explainError(err error) error {
	var known *session.MovedError
	var coded exitError
	switch {
	case err == nil, errors.As(err, &known), errors.As(err, &coded) && coded.error == nil:
		return err
	}
	if moved := p.checkSameCluster(); moved != nil {
		return errors.Join(moved, err)
	}
	return err
}

func (c *connector) loadRESTConfig() (*rest.Config, error) {
	if _, err := c.loadKubeconfig(); err != nil {
		return nil, err
	}
	config, err := c.flags.Loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	c.logins.guardKeyboard(config)
	config.Wrap(c.writeFailures.RecordWrites(config.Host))
	config.UserAgent = "veltui/" + version
	config.WarningHandler = c.warnings
	// With client-go's default, five per second, examining one job takes many seconds.
	config.QPS, config.Burst = clientQPS, clientBurst
	return config, nil
}

func (c *connector) startWatch(
	ctx context.Context,
	conn cluster.Connection,
	log *slog.Logger,
	change func(*watch.Options),
) (*watch.Watcher, error) {
	o := c.watchOptions(conn)
	o.Log = log
	change(&o)
	w, err := watch.New(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("watching Velero: %w", err)
	}
	return w, nil
}

func (c *connector) watchOptions(conn cluster.Connection) watch.Options {
	return watch.Options{
		Config: conn.Config, Session: conn.Session, Clock: c.process.clock,
		Namespace:        c.flags.Context.Namespace,
		EnvNamespace:     c.process.getenv("VELERO_NAMESPACE"),
		ContextNamespace: conn.Namespace,
	}
}

// connectionFlagNames are the flags that lead another program to the same cluster and user. --token is not among
// them, because it is a secret.
var connectionFlagNames = []string{
	"kubeconfig",
	"cluster",
	"user",
	"server",
	"tls-server-name",
	"certificate-authority",
	"client-certificate",
	"client-key",
	"as",
	"as-uid",
	"as-group",
	"as-user-extra",
	"proxy-url",
	"insecure-skip-tls-verify",
}

var pathFlags = []string{"kubeconfig", "certificate-authority", "client-certificate", "client-key"}

// connectionFlags returns the flags, and the environment, with which another program reaches the cluster, without the
// context. Paths are absolute. A proxy with a password is left out.
func (c *connector) connectionFlags() (flags, environment []string) {
	if c.flags.Kubeconfig == "" {
		named := slices.DeleteFunc(
			filepath.SplitList(c.process.getenv("KUBECONFIG")),
			func(file string) bool { return file == "" },
		)
		files := appendUnique(nil, mapSlice(named, absolutePath)...)
		switch len(files) {
		case 0:
		case 1:
			flags = append(flags, "--kubeconfig="+files[0])
		default:
			environment = append(environment, "KUBECONFIG="+strings.Join(files, string(filepath.ListSeparator)))
		}
	}
	for _, name := range connectionFlagNames {
		for _, value := range givenFlagValues(c.flags.FlagSet.Lookup(name)) {
			if slices.Contains(pathFlags, name) {
				value = absolutePath(value)
			}
			if proxy, err := url.Parse(value); value != "" && (name != "proxy-url" || err == nil && proxy.User == nil) {
				flags = append(flags, "--"+name+"="+value)
			}
		}
	}
	return flags, environment
}

// givenFlagValues returns the values given to a flag, one for each time.
func givenFlagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if f.Value.String() == f.DefValue {
		return nil
	}
	return []string{f.Value.String()}
}
