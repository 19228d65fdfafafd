package cmd

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/inspect"
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
		Dir: c.indexDir(), Cluster: clusterIdentity(config), Clock: c.clock,
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
