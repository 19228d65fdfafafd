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
	plainPatience = 10 * time.Second
	plainShown    = 10
)

// plain is a session in lines: events as sentences, and a prompt. Only run uses the fields.
type plain struct {
	cli      *cli
	clusters []*plainCluster
	events   chan plainEvent
	stamped  bool // lines begin with the time
	prompted bool // the user types
	pace     narrate.Pace
	muted    bool
	err      error // of printing
}

type plainCluster struct {
	cli     *cli
	name    string
	options cluster.FollowOptions
	changes narrate.Changes

	assessed *assess.Assessment
	unusable error // why it cannot be followed
	warned   bool  // it was said that it is silent
}

type plainEvent struct {
	of        *plainCluster
	assessed  *assess.Assessment
	err       error
	sentences []string
}

func (c *cli) plain(ctx context.Context) error {
	contexts, err := c.contexts()
	if err != nil {
		return err
	}
	if err := c.login(ctx, contexts); err != nil {
		return err
	}
	c.log = c.logging(ctx)
	p := &plain{cli: c, events: make(chan plainEvent)}
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
	go func() { p.send(ctx, plainEvent{sentences: c.unfinished(ctx, nil, c.connections(contexts)...)}) }()
	return p.run(ctx)
}

func (p *plain) send(ctx context.Context, e plainEvent) {
	select {
	case p.events <- e:
	case <-ctx.Done():
	}
}

func (p *plain) follow(ctx context.Context, c *cli) (*plainCluster, error) {
	one := &plainCluster{cli: c}
	conn, err := c.connect()
	if err != nil {
		return one, err
	}
	one.name = conn.Context
	one.options, err = c.following(ctx, selection{}, human.Spoken, func(o *watch.Options) { o.Journal = 0 })
	one.options.Patience = plainPatience
	one.options.Ready = func(snap *watch.Snapshot) (bool, error) { return narrate.Complete(snap), nil }
	return one, err
}

func (p *plain) run(ctx context.Context) error {
	names := p.names()
	where := "context " + names[0]
	if len(names) > 1 {
		where = human.Count(len(names), "context") + ": " + human.List(names, 5)
	}
	p.say("This is veltui in plain mode, on " + where + ". It is connecting.")
	if p.prompted {
		p.say("Type a command and press enter; help lists them, quit ends veltui.")
	}
	for _, one := range p.clusters {
		if one.unusable == nil {
			go p.read(ctx, one)
		} else {
			p.say(p.unusable(one))
		}
	}
	lines, next := p.lines(ctx)
	p.prompt()
	for p.err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-p.events:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var silent *cluster.SilentError
			if e.err != nil && !errors.As(e.err, &silent) {
				return e.err
			}
			p.take(e, silent)
		case line, open := <-lines:
			if !open {
				if lines = nil; p.prompted {
					return nil // ctrl+d
				}
				continue
			}
			if p.obey(ctx, line) {
				return p.err
			}
			p.prompt()
			next <- struct{}{}
		}
	}
	return p.err
}

func (p *plain) read(ctx context.Context, one *plainCluster) {
	for a, err := range cluster.Follow(ctx, one.options) {
		p.send(ctx, plainEvent{of: one, assessed: a, err: err})
	}
}

// lines sends each typed line after the command before has ended, which may ask something
// itself. Without output on the terminal it is not read: that would stop a background job.
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

func (p *plain) take(e plainEvent, silent *cluster.SilentError) {
	one := e.of
	switch {
	case one == nil:
		p.say(e.sentences...)
		return
	case silent != nil:
		if !one.warned {
			one.warned = true
			why := cmp.Or(silent.Why, "it has not sent everything")
			p.announce(p.about(one, "veltui still waits for the cluster: "+why+". It keeps trying."))
		}
		return
	}
	first := one.assessed == nil
	one.assessed = e.assessed
	for _, line := range one.changes.Since(one.assessed) {
		line.About, line.Text = one.name+" "+line.About, p.about(one, line.Text)
		p.pace.Add(line)
	}
	if first {
		p.announce(p.overview(one, "Connected. Velero is in namespace "+one.assessed.Snapshot.Namespace+".")...)
	}
	if !p.muted {
		p.announce(p.pace.Due(p.cli.clock())...)
	}
}

func (p *plain) overview(one *plainCluster, before ...string) []string {
	lines := append(before, narrate.Overview(one.assessed, plainShown, one.changes.Flags)...)
	for i := range lines {
		lines[i] = p.about(one, lines[i])
	}
	return lines
}

func (p *plain) about(one *plainCluster, text string) string {
	if len(p.clusters) == 1 {
		return text
	}
	return one.name + ": " + text
}

func (p *plain) unusable(one *plainCluster) string {
	return p.about(one, fmt.Sprintf("veltui cannot follow this cluster: %s.", one.unusable))
}

// announce says something unasked, on a new line below what is being typed.
func (p *plain) announce(lines ...string) {
	if len(lines) == 0 {
		return
	}
	if p.prompted {
		fmt.Fprintln(p.cli.streams.Out)
	}
	p.say(lines...)
	p.prompt()
}

// say prints lines, until that fails. Each is one line, whatever others wrote into it.
func (p *plain) say(lines ...string) {
	for _, line := range lines {
		line = sanitize.String(line)
		if p.stamped {
			line = p.cli.clock().Format(time.DateTime) + " " + line
		}
		if p.err == nil {
			_, p.err = fmt.Fprintln(p.cli.streams.Out, line)
		}
	}
}

func (p *plain) prompt() {
	if p.prompted {
		fmt.Fprint(p.cli.streams.Out, "> ")
	}
}
