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
	*process
	flags        *session.Flags
	allContexts  bool
	exactContext bool // one name, neither a list nor a glob
	warnings     *session.Warnings
	logins       *logins
	pinned       *pinned
	writes       *session.WriteFailures
	requests     *atomic.Int64 // DownloadRequests that are still in a cluster
}

func newConnector(p *process) connector {
	return connector{
		process:  p,
		flags:    session.NewFlags(),
		warnings: &session.Warnings{},
		logins:   &logins{},
		pinned:   &pinned{},
		requests: &atomic.Int64{},
		writes:   &session.WriteFailures{Clock: func() time.Time { return p.clock() }},
	}
}

const inCluster = "in-cluster" // the context where no kubeconfig names one

// connect reads the kubeconfig of the one context that was named, without a request, and stays with it.
func (c *connector) connect() (cluster.Connection, error) {
	context, err := c.oneContext()
	if err != nil {
		return cluster.Connection{}, err
	}
	raw, err := c.kubeconfig()
	if err != nil {
		return cluster.Connection{}, err
	}
	conn := cluster.Connection{Context: cmp.Or(context, inCluster)}
	if named := raw.Contexts[context]; named != nil {
		conn.Namespace, conn.Request.Context = named.Namespace, context
		if c.flags.CurrentContext != context || c.allContexts { // else several may connect at once
			c.flags.CurrentContext, c.allContexts = context, false
		}
	}
	if conn.Session, err = c.openSession(); err != nil {
		return cluster.Connection{}, err
	}
	conn.Config = conn.Session.Config()
	conn.Request.Flags, conn.Request.Environment = c.connectionFlags()
	return conn, nil
}

// withContext is for another context and, unless it is empty, namespace. The rest is shared.
func (c *connector) withContext(context, namespace string) *connector {
	other := *c
	other.pinned = &pinned{}
	other.allContexts, other.exactContext = false, true
	other.flags = c.flags.ForContext(context, namespace)
	return &other
}

// errNoCluster stands in for localhost:8080, which client libraries try by default.
var errNoCluster = errors.New("no cluster is configured: set KUBECONFIG, or give --kubeconfig FILE or --server URL")

// The limits of one command's clients; the API server's priority and fairness does the rest.
const clientQPS, clientBurst = 50, 100

type pinned struct {
	mu      sync.Mutex
	session *session.Session
}

// openSession returns the session of the cluster to which the context led first, with the
// credentials of now, and an error if it leads elsewhere.
func (c *connector) openSession() (*session.Session, error) {
	c.pinned.mu.Lock()
	defer c.pinned.mu.Unlock()
	if c.pinned.session != nil {
		var moved *session.MovedError
		if err := c.pinned.session.Refresh(); errors.As(err, &moved) {
			return nil, err
		}
		return c.pinned.session, nil // one that cannot be read now leads nowhere else
	}
	s, err := session.New(session.Options{
		Load:    c.loadConfig,
		Context: cmp.Or(c.flags.CurrentContext, inCluster),
		Clock:   func() time.Time { return c.clock() },
	})
	if err != nil {
		return nil, err
	}
	c.pinned.session = s
	return s, nil
}

// moved returns an error if the context leads to another cluster now.
func (p *pinned) moved() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil {
		return nil
	}
	return p.session.Moved()
}

// explain adds to an error that the context leads to another cluster now, whose credentials do not fit.
func (p *pinned) explain(err error) error {
	var known *session.MovedError
	var coded exitError
	switch {
	case err == nil, errors.As(err, &known), errors.As(err, &coded) && coded.error == nil:
		return err
	}
	if moved := p.moved(); moved != nil {
		return errors.Join(moved, err)
	}
	return err
}

func (c *connector) loadConfig() (*rest.Config, error) {
	if _, err := c.kubeconfig(); err != nil {
		return nil, err
	}
	config, err := c.flags.Loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	c.logins.guard(config)
	config.Wrap(c.writes.Watch(config.Host))
	config.UserAgent = "veltui/" + version
	config.WarningHandler = c.warnings
	// client-go's default, five a second, makes a look at one job take many seconds.
	config.QPS, config.Burst = clientQPS, clientBurst
	return config, nil
}

func (c *connector) watch(
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
		Config: conn.Config, Session: conn.Session, Clock: c.clock,
		Namespace: c.flags.Context.Namespace, EnvNamespace: c.env("VELERO_NAMESPACE"), ContextNamespace: conn.Namespace,
	}
}

// reachFlags lead another program to the same cluster and user. --token is a secret.
var reachFlags = []string{
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

var fileFlags = []string{"kubeconfig", "certificate-authority", "client-certificate", "client-key"}

// connectionFlags are the flags, and the environment, by which another program gets to the
// cluster, without the context. Paths are absolute. A proxy with a password is left out.
func (c *connector) connectionFlags() (flags, environment []string) {
	if c.flags.Kubeconfig == "" {
		named := slices.DeleteFunc(
			filepath.SplitList(c.env("KUBECONFIG")),
			func(file string) bool { return file == "" },
		)
		files := appendNew(nil, mapSlice(named, absolutePath)...)
		switch len(files) {
		case 0:
		case 1:
			flags = append(flags, "--kubeconfig="+files[0])
		default:
			environment = append(environment, "KUBECONFIG="+strings.Join(files, string(filepath.ListSeparator)))
		}
	}
	for _, name := range reachFlags {
		for _, value := range flagValues(c.flags.Set.Lookup(name)) {
			if slices.Contains(fileFlags, name) {
				value = absolutePath(value)
			}
			if proxy, err := url.Parse(value); value != "" && (name != "proxy-url" || err == nil && proxy.User == nil) {
				flags = append(flags, "--"+name+"="+value)
			}
		}
	}
	return flags, environment
}

// flagValues are the values that were given to a flag, one for each time.
func flagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if f.Value.String() == f.DefValue {
		return nil
	}
	return []string{f.Value.String()}
}
