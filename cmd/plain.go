package cmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/narrate"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/watch"
)

const (
	// plainPace is how often passing time is looked at: verdicts change with it.
	plainPace = time.Second
	// plainPatience is how long a cluster may be silent before that is said.
	plainPatience = 10 * time.Second
	// plainShown is how many jobs are named at the start and by list.
	plainShown = 10
	// plainLookPace is the least time between two closer looks, and plainLookAge
	// is when one is repeated, before what it found is forgotten.
	plainLookPace, plainLookAge = 15 * time.Second, 4 * time.Minute
	// plainLooks is how many jobs are looked at closer.
	plainLooks = 6
)

// wantsPlain is what --plain and VELTUI_PLAIN say.
func (c *cli) wantsPlain(flag bool) bool {
	set, err := strconv.ParseBool(c.env("VELTUI_PLAIN"))
	return flag || err == nil && set
}

// plain is a session in lines: sentences about what happens, and a prompt. Only
// its run reads and writes the fields.
type plain struct {
	cli     *cli
	conn    connection
	log     *slog.Logger
	cancel  context.CancelCauseFunc
	watcher *watch.Watcher
	known   *cachedEstimates
	looker  *closerLook

	// stamped lines begin with the time, and prompted says that somebody types.
	stamped, prompted bool
	began             time.Time
	warned            bool // that the cluster is silent

	// snap is the last snapshot and assessed its judgement; nil until everything has
	// been read once.
	snap     *watch.Snapshot
	assessed *assess.Assessment
	changes  narrate.Changes
	pace     narrate.Pace
	muted    bool

	looking bool
	looked  map[types.UID]time.Time // when each job was last looked at
	look    time.Time               // when the last look began
	looks   chan struct{}           // one has ended
}

// plain tells what happens in lines until it is told to end, and takes commands.
func (c *cli) plain(ctx context.Context) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	if err := c.login(ctx, []string{conn.context}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	logFile, _ := c.openLog()
	defer func() { _ = logFile.Close() }()
	p := &plain{cli: c, conn: conn, cancel: cancel, log: c.logTo(logFile, cancel), began: c.clock(), looked: map[types.UID]time.Time{}, looks: make(chan struct{}, 1)}
	p.stamped, p.prompted = !isTerminal(c.stdout), isTerminal(c.stdout) && isTerminal(c.stdin)
	if p.watcher, err = c.watch(ctx, conn, 0, p.log); err != nil {
		return err
	}
	if p.known, err = c.newCachedEstimates(); err != nil {
		return err
	}
	p.looker = &closerLook{cli: c, log: p.log}
	defer c.awaitRequests()
	return p.run(ctx)
}

// run is the session.
func (p *plain) run(ctx context.Context) error {
	if err := p.say("This is veltui in plain mode, on context " + p.conn.context + ". It is connecting."); err != nil {
		return err
	}
	if p.prompted {
		if err := p.say("Type a command and press enter; help lists them, quit ends veltui."); err != nil {
			return err
		}
	}
	snapshots, failed := p.snapshots(ctx)
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
		case p.snap = <-snapshots:
			err = p.judge(ctx)
		case <-tick.C:
			err = p.judge(ctx)
		case <-p.looks:
			p.looking = false
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

// snapshots brings each new one.
func (p *plain) snapshots(ctx context.Context) (<-chan *watch.Snapshot, <-chan error) {
	snapshots, failed := make(chan *watch.Snapshot), make(chan error, 1)
	go func() {
		for {
			snap, err := p.watcher.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case snapshots <- snap:
			case <-ctx.Done():
				return
			}
		}
	}()
	return snapshots, failed
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

// judge judges the last snapshot for this moment, and says what is due.
func (p *plain) judge(ctx context.Context) error {
	now := p.cli.clock()
	if p.snap == nil || p.assessed == nil && !p.complete() {
		if now.Sub(p.began) < plainPatience || p.warned {
			return nil
		}
		p.warned = true
		why := "it does not answer"
		if p.snap != nil {
			why = cmp.Or(p.snap.Health.Err, "it has not sent everything")
		}
		return p.announce("veltui still waits for the cluster: " + why + ". It keeps trying.")
	}
	first := p.assessed == nil
	p.assessed = p.known.assess(ctx, p.snap, func(*job.Job) bool { return true })
	p.pace.Add(p.changes.Since(p.assessed)...)
	p.lookCloser(ctx, now)
	switch {
	case first:
		return p.announce(append([]string{"Connected. Velero is in namespace " + p.snap.Namespace + "."}, narrate.Overview(p.assessed, plainShown)...)...)
	case p.muted:
		return nil
	}
	return p.announce(p.pace.Due(now)...)
}

// complete reports whether everything has been read once.
func (p *plain) complete() bool {
	for _, s := range p.snap.Sources {
		if s.State == watch.SourceSyncing {
			return false
		}
	}
	return len(p.snap.Sources) > 0 && p.snap.Health.State == watch.Live
}

// lookCloser looks at one job that does not move, as `veltui explain` does.
func (p *plain) lookCloser(ctx context.Context, now time.Time) {
	if p.looking || now.Sub(p.look) < plainLookPace || p.assessed.Stale() {
		return
	}
	seen := 0
	for _, j := range p.assessed.Snapshot.Active {
		judged := p.assessed.Of(j)
		if !judged.NeedsLook || judged.Queue.Waits {
			continue
		}
		if seen++; seen > plainLooks {
			return
		}
		if now.Sub(p.looked[j.UID]) < plainLookAge {
			continue
		}
		p.looking, p.look, p.looked[j.UID] = true, now, now
		go func() {
			look, err := p.looker.Look(ctx, j)
			if err != nil {
				look = assess.Look{At: p.cli.clock(), Err: err.Error()}
			}
			p.known.estimates.Looked(j.UID, look)
			p.looks <- struct{}{}
		}()
		return
	}
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
