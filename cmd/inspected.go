package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/stored/artifact"
)

// inspected is the cluster of the command's context. caFile holds certificates of the
// object store, or is empty.
func (c *cli) inspected(caFile string, log *slog.Logger) *inspect.Cluster {
	return &inspect.Cluster{
		Connect: func() (inspect.Connection, error) {
			conn, err := c.connect()
			return conn.Connection, err
		},
		Clock: c.clock, Log: log, ReadOnly: c.isReadOnly(), Demo: c.inDemo, CAFile: caFile,
		AllowPlainHTTP: c.plainHTTP.allows(), Announce: c.plainHTTP.announcer(c.streams.ErrOut, log), Version: version, Requests: c.requests, AuditDir: c.auditDir,
	}
}

// addCAFile adds --cacert.
func addCAFile(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "cacert", "", "PEM file with the CA certificates of the object store")
	completeFiles(flags, "cacert")
}

// openIndexes is the cache of what is in a cluster's backups.
func (c *files) openIndexes(config *rest.Config, log *slog.Logger) *cache.Cache {
	return cache.Open(cache.Options{
		Dir: c.indexDir(), Cluster: session.CacheKey(config), Clock: c.clock,
		Failed: func(err error) { log.Warn("cannot use the index cache", "error", err) },
	})
}

// indexDir is the XDG place for indexes of backups, empty if there is none.
func (c *files) indexDir() string {
	if dir := c.env("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "veltui", "indexes")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "veltui", "indexes")
}

// plainHTTP is what the user allows about object stores without TLS.
type plainHTTP struct {
	*process
	allowed bool // --allow-plain-http
	// silent is true while something else has the screen.
	silent bool
}

// allows is what --allow-plain-http and VELTUI_ALLOW_PLAIN_HTTP say.
// Whatever is not a clear yes in the variable means no.
func (p *plainHTTP) allows() bool {
	yes, err := strconv.ParseBool(p.env("VELTUI_ALLOW_PLAIN_HTTP"))
	return p.allowed || err == nil && yes
}

// announcer says on a writer, before they come, that bytes come unencrypted.
func (p *plainHTTP) announcer(errOut io.Writer, log *slog.Logger) func(artifact.Route) {
	return func(r artifact.Route) {
		if !r.PlainHTTP {
			return
		}
		log.Warn("a download comes over plain http", "host", r.Host, "via", r.Via)
		if !p.silent {
			fmt.Fprintf(errOut, "warning: downloading from %s over plain http; anyone on the network can read the data\n", r.Host)
		}
	}
}
