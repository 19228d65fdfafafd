package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/sanitize"
)

// settlePatience is how long looking up the outcome of unfinished attempts may take.
const settlePatience = 5 * time.Second

// unfinished returns a sentence about each attempt of the audit log that was not
// completed. What became of it is looked up if it was made on one of the clusters
// that the connections lead to; without such an attempt no cluster is asked.
func (c *cli) unfinished(ctx context.Context, connections ...connection) []string {
	dir, err := c.auditDir()
	if err != nil {
		return nil // writes will say so
	}
	now := c.clock()
	attempts, _, err := action.UnfinishedAttempts(dir, now)
	var all []string
	if err != nil {
		all = append(all, sanitize.Whole(fmt.Sprintf("veltui does not know of all attempts that were not completed: %v", err)))
	}
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	for i := range attempts {
		all = append(all, sanitize.Whole(attempts[i].Describe(now)+settle(ctx, c.inspected("", slog.Default()), &attempts[i], connections)))
	}
	return all
}

// settle looks up what became of an attempt, and says it as the end of a sentence.
func settle(ctx context.Context, cluster *inspect.Cluster, a *action.Attempt, connections []connection) string {
	for _, conn := range connections {
		engine, err := cluster.Engine(conn.Connection, a.Namespace, inspect.EngineOptions{ReadOnly: true, NoStore: true})
		if err != nil || !engine.IsHere(a) {
			continue
		}
		fate, err := engine.Settle(ctx, a)
		switch {
		case err != nil && fate.Message == "":
			return fmt.Sprintf("; its outcome could not be looked up: %v.", err)
		case err != nil:
			return fmt.Sprintf(": %s. That could not be recorded: %v.", fate.Message, err)
		case fate.Phase != "":
			return fmt.Sprintf(": %s. The %s is %s now.", fate.Message, a.Kind, fate.Phase)
		}
		return ": " + fate.Message + "."
	}
	return fmt.Sprintf("; its outcome is looked up when veltui is connected to %s.", a.Cluster)
}

// connections are those of some contexts, as far as they can be used.
func (c *connector) connections(contexts []string) []connection {
	var all []connection
	for _, name := range contexts {
		if conn, err := c.withContext(name, "").connect(); err == nil {
			all = append(all, conn)
		}
	}
	return all
}
