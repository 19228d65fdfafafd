package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/watch"
)

const (
	plainConnectTimeout = 10 * time.Second
	maxPlainJobs        = 10
)

// plainSession is a line-based session: events as sentences, and a prompt. Only the goroutine of runPlain uses the
// fields.
type plainSession struct {
	cli         *cli
	clusters    []*plainCluster
	events      chan plainEvent
	timestamped bool // lines begin with the time
	interactive bool // the user types
	pace        narrate.Pacer
	muted       bool
	printErr    error // the first error of printing
}

type plainCluster struct {
	cli     *cli
	name    string
	options cluster.FollowOptions
	changes narrate.ChangeTracker

	assessed     *assess.Assessment
	followErr    error // why the cluster cannot be followed
	warnedSilent bool  // true once the user was told that the cluster is silent
}

type plainEvent struct {
	source    *plainCluster
	assessed  *assess.Assessment
	err       error
	sentences []string
}

func (c *cli) runPlain(ctx context.Context) error {
	contexts, err := c.connector.resolveContexts()
	if err != nil {
		return err
	}
	if err := c.connector.runLogins(ctx, contexts); err != nil {
		return err
	}
	c.files.log = c.openLogger(ctx)
	p := &plainSession{cli: c, events: make(chan plainEvent)}
	p.timestamped, p.interactive = !isTerminal(c.stdio.stdout), isTerminal(c.stdio.stdout) && isTerminal(c.stdio.stdin)
	for _, name := range contexts {
		cluster, err := p.followCluster(ctx, c.forContext(name, ""))
		if err != nil && len(contexts) == 1 {
			return err
		}
		cluster.name, cluster.followErr = cmp.Or(cluster.name, name), err
		if len(contexts) > 1 {
			cluster.changes.CommandFlags = "--context " + cluster.name
		}
		p.clusters = append(p.clusters, cluster)
	}
	defer c.connector.awaitRequestCleanup()
	go func() {
		p.sendEvent(
			ctx,
			plainEvent{sentences: c.describeUnfinishedAttempts(ctx, nil, c.connector.openConnections(contexts)...)},
		)
	}()
	return p.runSession(ctx)
}

func (p *plainSession) sendEvent(ctx context.Context, e plainEvent) {
	select {
	case p.events <- e:
	case <-ctx.Done():
	}
}

func (p *plainSession) followCluster(ctx context.Context, c *cli) (*plainCluster, error) {
	one := &plainCluster{cli: c}
	conn, err := c.connector.openConnection()
	if err != nil {
		return one, err
	}
	one.name = conn.Context
	one.options, err = c.newFollowOptions(
		ctx,
		selection{},
		human.SpokenStyle,
		func(o *watch.Options) { o.JournalLimit = 0 },
	)
	one.options.MaxSilence = plainConnectTimeout
	one.options.Ready = func(snap *watch.Snapshot) (bool, error) { return narrate.IsSnapshotComplete(snap), nil }
	return one, err
}

func (p *plainSession) runSession(ctx context.Context) error {
	names := p.clusterNames()
	where := "context " + names[0]
	if len(names) > 1 {
		where = human.Count(len(names), "context") + ": " + human.JoinNames(names, 5)
	}
	p.printLines("This is veltui in plain mode, on " + where + ". It is connecting.")
	if p.interactive {
		p.printLines("Type a command and press enter; help lists them, quit ends veltui.")
	}
	for _, one := range p.clusters {
		if one.followErr == nil {
			go p.readAssessments(ctx, one)
		} else {
			p.printLines(p.unusableText(one))
		}
	}
	lines, next := p.readCommands(ctx)
	p.printPrompt()
	for p.printErr == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-p.events:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var silent *cluster.NotReadyError
			if e.err != nil && !errors.As(e.err, &silent) {
				return e.err
			}
			p.handleEvent(e, silent)
		case line, open := <-lines:
			if !open {
				if lines = nil; p.interactive {
					return nil // ctrl+d
				}
				continue
			}
			if p.handleCommand(ctx, line) {
				return p.printErr
			}
			p.printPrompt()
			next <- struct{}{}
		}
	}
	return p.printErr
}

func (p *plainSession) readAssessments(ctx context.Context, one *plainCluster) {
	for a, err := range cluster.Follow(ctx, one.options) {
		p.sendEvent(ctx, plainEvent{source: one, assessed: a, err: err})
	}
}

// readCommands sends each typed line once the previous command has ended, because the command may ask something
// itself. If the input is a terminal but the session is not interactive, it reads nothing: a read would stop a
// background job.
func (p *plainSession) readCommands(ctx context.Context) (<-chan string, chan<- struct{}) {
	lines, next := make(chan string), make(chan struct{}, 1)
	if isTerminal(p.cli.stdio.stdin) && !p.interactive {
		return lines, next
	}
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(p.cli.stdio.stdin); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines, next
}

func (p *plainSession) handleEvent(e plainEvent, silent *cluster.NotReadyError) {
	one := e.source
	switch {
	case one == nil:
		p.printLines(e.sentences...)
		return
	case silent != nil:
		if !one.warnedSilent {
			one.warnedSilent = true
			why := cmp.Or(silent.LastError, "it has not sent everything")
			p.announceLines(p.prefixContext(one, "veltui still waits for the cluster: "+why+". It keeps trying."))
		}
		return
	}
	first := one.assessed == nil
	one.assessed = e.assessed
	for _, line := range one.changes.CollectLines(one.assessed) {
		line.Subject, line.Text = one.name+" "+line.Subject, p.prefixContext(one, line.Text)
		p.pace.AddLines(line)
	}
	if first {
		p.announceLines(p.overviewLines(one, "Connected. Velero is in namespace "+one.assessed.Snapshot.Namespace+".")...)
	}
	if !p.muted {
		p.announceLines(p.pace.TakeDueLines(p.cli.process.clock())...)
	}
}

func (p *plainSession) overviewLines(one *plainCluster, before ...string) []string {
	lines := append(before, narrate.Overview(one.assessed, maxPlainJobs, one.changes.CommandFlags)...)
	for i := range lines {
		lines[i] = p.prefixContext(one, lines[i])
	}
	return lines
}

func (p *plainSession) prefixContext(one *plainCluster, text string) string {
	if len(p.clusters) == 1 {
		return text
	}
	return one.name + ": " + text
}

func (p *plainSession) unusableText(one *plainCluster) string {
	return p.prefixContext(one, fmt.Sprintf("veltui cannot follow this cluster: %s.", one.followErr))
}

// announceLines prints lines that the user did not ask for, below the line being typed.
func (p *plainSession) announceLines(lines ...string) {
	if len(lines) == 0 {
		return
	}
	if p.interactive {
		fmt.Fprintln(p.cli.stdio.streams.Out)
	}
	p.printLines(lines...)
	p.printPrompt()
}

// printLines prints lines until printing fails. Foreign text cannot start a new line.
func (p *plainSession) printLines(lines ...string) {
	for _, line := range lines {
		line = sanitize.String(line)
		if p.timestamped {
			now := p.cli.process.clock()
			line = human.Moment(now, now) + " " + line
		}
		if p.printErr == nil {
			_, p.printErr = fmt.Fprintln(p.cli.stdio.streams.Out, line)
		}
	}
}

func (p *plainSession) printPrompt() {
	if p.interactive {
		fmt.Fprint(p.cli.stdio.streams.Out, "> ")
	}
}
