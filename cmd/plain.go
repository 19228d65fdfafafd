package cmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/narrate"
	"github.com/veltui/veltui/watch"
)

const (
	// plainPace is how often passing time is looked at: verdicts change with it.
	plainPace = time.Second
	// plainPatience is how long a cluster may be silent before that is said.
	plainPatience = 10 * time.Second
	// plainShown is how many jobs are named at the start and by list.
	plainShown = 10
)

// plain is a session in lines: sentences about what happens, and a prompt. Only
// its run reads and writes the fields.
type plain struct {
	cli      *cli
	log      *slog.Logger
	clusters []*plainCluster
	changed  chan func() // what came of a cluster, to be taken by run

	// stamped lines begin with the time, and prompted says that somebody types.
	stamped, prompted bool
	began             time.Time
	pace              narrate.Pace
	muted             bool
}

// plainCluster is one of the clusters.
type plainCluster struct {
	cli     *cli
	name    string
	watcher *watch.Watcher
	known   *cachedEstimates
	lookout *lookout
	changes narrate.Changes

	// snap is the last snapshot and assessed its judgement; nil until everything has
	// been read once.
	snap     *watch.Snapshot
	assessed *assess.Assessment
	// unusable is why it cannot be followed, and warned that it is silent or not
	// usable has been said.
	unusable error
	warned   bool
}

// plain tells what happens in lines until it is told to end, and takes commands.
func (c *cli) plain(ctx context.Context) error {
	contexts, err := c.contexts()
	if err != nil {
		return err
	}
	if err := c.login(ctx, contexts); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	logFile, _ := c.openLog()
	defer func() { _ = logFile.Close() }()
	p := &plain{cli: c, log: c.logTo(logFile, cancel), began: c.clock(), changed: make(chan func())}
	p.stamped, p.prompted = !isTerminal(c.stdout), isTerminal(c.stdout) && isTerminal(c.stdin)
	for _, name := range contexts {
		cluster, err := p.follow(ctx, c.forContext(name, ""))
		if err != nil && len(contexts) == 1 {
			return err
		}
		cluster.name, cluster.unusable = cmp.Or(cluster.name, name), err
		if len(contexts) > 1 {
			cluster.changes.Flags = "--context " + cluster.name
		}
		p.clusters = append(p.clusters, cluster)
	}
	defer c.awaitRequests()
	go p.reportUnfinished(ctx, contexts)
	return p.run(ctx)
}

// reportUnfinished tells of earlier attempts that were not completed.
func (p *plain) reportUnfinished(ctx context.Context, contexts []string) {
	sentences := p.cli.unfinished(ctx, p.cli.connections(contexts)...)
	p.hand(ctx, func() {
		for _, s := range sentences {
			_ = p.say(s) // the next line meets the same error
		}
	})
}

// follow watches the cluster that c leads to.
func (p *plain) follow(ctx context.Context, c *cli) (*plainCluster, error) {
	one := &plainCluster{cli: c, lookout: newLookout(c, p.log)}
	conn, err := c.connect()
	if err != nil {
		return one, err
	}
	one.name = conn.Context
	if one.watcher, err = c.watch(ctx, conn, 0, p.log); err != nil {
		return one, err
	}
	one.known, err = c.newCachedEstimates()
	return one, err
}

// run is the session.
func (p *plain) run(ctx context.Context) error {
	names := p.names()
	where := "context " + names[0]
	if len(names) > 1 {
		where = human.Count(len(names), "context") + ": " + human.List(names, 5)
	}
	if err := p.say("This is veltui in plain mode, on " + where + ". It is connecting."); err != nil {
		return err
	}
	if p.prompted {
		if err := p.say("Type a command and press enter; help lists them, quit ends veltui."); err != nil {
			return err
		}
	}
	failed := make(chan error, len(p.clusters))
	for _, one := range p.clusters {
		if one.unusable == nil {
			go p.read(ctx, one, failed)
		}
	}
	lines, next := p.lines(ctx)
	p.prompt()
	tick := time.NewTicker(plainPace)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err = <-failed:
			return cmp.Or(context.Cause(ctx), err)
		case take := <-p.changed:
			take()
			err = p.judge(ctx)
		case <-tick.C:
			err = p.judge(ctx)
		case line, open := <-lines:
			if !open {
				if lines = nil; p.prompted {
					return nil // ctrl+d
				}
				continue
			}
			var quit bool
			if quit, err = p.obey(ctx, line); quit {
				return err
			}
			p.prompt()
			next <- struct{}{}
		}
		if err != nil {
			return printError{err}
		}
	}
}

// read hands over each new snapshot of a cluster.
func (p *plain) read(ctx context.Context, one *plainCluster, failed chan<- error) {
	for {
		snap, err := one.watcher.Next(ctx)
		if err != nil {
			failed <- err
			return
		}
		p.hand(ctx, func() { one.snap = snap })
	}
}

// hand has run take something.
func (p *plain) hand(ctx context.Context, take func()) {
	select {
	case p.changed <- take:
	case <-ctx.Done():
	}
}

// lines brings each line that is typed. It reads one only after the command of the
// one before has ended, because a command may ask something itself. A terminal
// is not read while the output goes elsewhere: in the background of a shell
// that would stop the program.
func (p *plain) lines(ctx context.Context) (<-chan string, chan<- struct{}) {
	lines, next := make(chan string), make(chan struct{}, 1)
	if isTerminal(p.cli.stdin) && !p.prompted {
		return lines, next
	}
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(p.cli.stdin); scanner.Scan(); {
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

// judge judges what is known of each cluster for this moment, and says what is
// due.
func (p *plain) judge(ctx context.Context) error {
	now := p.cli.clock()
	for _, one := range p.clusters {
		if one.assessed == nil && !one.complete() {
			if err := p.warn(one, now); err != nil {
				return err
			}
			continue
		}
		first := one.assessed == nil
		one.assessed = one.known.assess(ctx, one.snap, everyJob)
		for _, line := range one.changes.Since(one.assessed) {
			line.About, line.Text = one.name+" "+line.About, p.of(one, line.Text)
			p.pace.Add(line)
		}
		one.lookout.start(ctx, one.assessed, everyJob, &one.known.estimates, func(take func()) { p.hand(ctx, take) })
		if first {
			if err := p.announce(p.overview(one, "Connected. Velero is in namespace "+one.snap.Namespace+".")...); err != nil {
				return err
			}
		}
	}
	if p.muted {
		return nil
	}
	return p.announce(p.pace.Due(now)...)
}

// overview says how a cluster is, after a sentence.
func (p *plain) overview(one *plainCluster, before ...string) []string {
	lines := append(before, narrate.Overview(one.assessed, plainShown, one.changes.Flags)...)
	for i := range lines {
		lines[i] = p.of(one, lines[i])
	}
	return lines
}

// of is a sentence about one of several clusters.
func (p *plain) of(one *plainCluster, text string) string {
	if len(p.clusters) == 1 {
		return text
	}
	return one.name + ": " + text
}

// warn says once that a cluster tells nothing, and why.
func (p *plain) warn(one *plainCluster, now time.Time) error {
	if one.warned || one.unusable == nil && now.Sub(p.began) < plainPatience {
		return nil
	}
	one.warned = true
	why := "it does not answer"
	switch {
	case one.unusable != nil:
		return p.announce(p.of(one, fmt.Sprintf("veltui cannot follow this cluster: %s.", one.unusable)))
	case one.snap != nil:
		why = cmp.Or(one.snap.Health.Err, "it has not sent everything")
	}
	return p.announce(p.of(one, "veltui still waits for the cluster: "+why+". It keeps trying."))
}

func everyJob(*job.Job) bool { return true }

// complete reports whether everything has been read once.
func (one *plainCluster) complete() bool {
	return one.snap != nil && narrate.Complete(one.snap)
}

// announce says what nobody asked for. What is being typed stays in the terminal's
// line; it begins a new line on the screen.
func (p *plain) announce(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	if p.prompted {
		fmt.Fprintln(p.cli.streams.Out)
	}
	err := p.say(lines...)
	p.prompt()
	return err
}

// say prints lines. Each is one line, whatever others wrote into it.
func (p *plain) say(lines ...string) error {
	for _, line := range lines {
		line = sanitize.String(line)
		if p.stamped {
			line = p.cli.clock().Format(time.DateTime) + " " + line
		}
		if _, err := fmt.Fprintln(p.cli.streams.Out, line); err != nil {
			return err
		}
	}
	return nil
}

func (p *plain) prompt() {
	if p.prompted {
		fmt.Fprint(p.cli.streams.Out, "> ")
	}
}
