package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/watch"
)

// target is one Velero that a command reads.
type target struct {
	context   string // of the kubeconfig, empty if none is in use
	namespace string // empty if the flags name it, or veltui searches for it
	repeated  bool   // an earlier target has the same context
	err       error  // why it is unknown which namespaces of the context have a Velero
}

// rowPlaces are the columns that tell rows of several targets apart.
type rowPlaces struct{ contexts, namespaces bool }

func (p rowPlaces) isEmpty() bool { return p == rowPlaces{} }

// describeTarget returns the parts of a target that are shown, such as "context east, namespace velero".
func (p rowPlaces) describeTarget(context, namespace string) string {
	var parts []string
	if p.contexts {
		parts = append(parts, "context "+context)
	}
	if p.namespaces && namespace != "" {
		parts = append(parts, "namespace "+namespace)
	}
	return strings.Join(parts, ", ")
}

const allNamespacesFlag = "all-namespaces"

func (c *cli) addAllNamespacesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.connector.allNamespaces, allNamespacesFlag, "A", false,
		"Every namespace with a Velero, that is, with a BackupStorageLocation")
}

// resolveTargets returns the targets of the flags: a context each or, with --all-namespaces, each namespace with a
// Velero of each context. places are the columns that tell the targets apart.
func (c *cli) resolveTargets(ctx context.Context) (targets []target, places rowPlaces, err error) {
	contexts, err := c.connector.resolveContexts()
	if err != nil {
		return nil, rowPlaces{}, err
	}
	places = rowPlaces{c.connector.allContexts || len(contexts) > 1, c.connector.allNamespaces}
	if !places.namespaces {
		return mapSlice(contexts, func(name string) target { return target{context: name} }), places, nil
	}
	if named := c.connector.flags.FlagSet.Lookup("namespace"); named.Changed {
		return nil, rowPlaces{}, usageErrorf("--%s and -n %s: give only one of them", allNamespacesFlag, named.Value)
	}
	found := make([][]target, len(contexts))
	var all sync.WaitGroup
	for i, name := range contexts {
		all.Go(func() { found[i] = c.forContext(name, "").findTargets(ctx, name) })
	}
	all.Wait()
	for _, some := range found {
		targets = append(targets, some...)
	}
	return targets, places, context.Cause(ctx)
}

// findTargets returns a target for each namespace of the context with a Velero. Without any, it returns one for the
// namespace in which veltui would look.
func (c *cli) findTargets(ctx context.Context, name string) (found []target) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return []target{{context: name, err: err}}
	}
	patience := cmp.Or(max(conn.Config.Timeout, 0), firstSnapshotTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	namespaces, err := watch.ListNamespaces(ctx, c.connector.watchOptions(conn))
	switch {
	case errors.Is(err, watch.ErrSearchForbidden):
		err = fmt.Errorf("%w; name one namespace with -n instead of --%s", err, allNamespacesFlag)
		return []target{{context: name, err: err}}
	case err != nil:
		return []target{{context: name, err: cmp.Or(context.Cause(ctx), err)}}
	case len(namespaces) == 0:
		return []target{{context: name}}
	}
	for i, namespace := range namespaces {
		found = append(found, target{context: name, namespace: namespace, repeated: i > 0})
	}
	return found
}

// forTarget returns a cli that reads a target.
func (c *cli) forTarget(t target) *cli { return c.forContext(t.context, t.namespace) }

// otherVelerosNote returns that other namespaces have a Velero, too, unless the user has named the namespace. It
// returns each note once. place is what comes before it, such as the context of several.
func (c *connector) otherVelerosNote(s *watch.Snapshot, place string) string {
	if s.NamespaceOrigin == watch.OriginFlag || s.NamespaceOrigin == watch.OriginEnv || len(s.OtherNamespaces) == 0 {
		return ""
	}
	if place != "" {
		place += ": "
	}
	note := place + view.OtherVelerosNote(s.Namespace, s.OtherNamespaces)
	if _, known := c.otherVelerosNotes.LoadOrStore(note, true); known {
		return ""
	}
	return note
}

func (c *cli) noteOtherVeleros(s *watch.Snapshot, place string) {
	if note := c.connector.otherVelerosNote(s, place); note != "" {
		fmt.Fprintln(c.stdio.streams.ErrOut, "note: "+note)
	}
}
