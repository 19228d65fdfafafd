package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options are what the command line says.
type options struct {
	headless bool
	untilEOF bool
	speed    float64
	seed     uint64
	quiet    bool
	verbose  bool
	// veltui are arguments that go on to the dashboard.
	veltui []string

	// replay is the folder of recordings to play; empty for the simulation.
	replay     string
	sequence   bool
	keepTimes  bool
	interval   time.Duration
	delay      time.Duration
	waitInput  bool
	exitAtDone bool
}

const usage = `Run veltui with no cluster: a local control plane, a simulated Velero, and the
real dashboard. Everything is stopped when the dashboard ends.

Usage:
  demo [flags] [-- VELTUI-FLAGS]        a simulated Velero with jobs that never end
  demo replay DIR [flags] [-- VELTUI-FLAGS]   recordings of a real Velero, with their own timing

Examples:
  go run ./demo                            # the dashboard, at real speed
  go run ./demo --speed 5                  # everything five times as fast
  go run ./demo -- --read-only --ascii     # flags for the dashboard
  go run ./demo --headless                 # only the cluster: prints its kubeconfig and waits
  go run ./demo replay DIR                 # play every watch.jsonl below DIR, side by side
  go run ./demo replay DIR --speed 10 --sequence --headless --wait < start-pipe

DIR holds one recording or is a tree of them: a folder with a watch.jsonl
(lines {"t","type","object"}), or a folder of snapshots of one object as YAML.
Each recorded event is one write to the local API server. Names are kept, uids
are new ones. Times in status are moved so that the run looks like now, and
drawn together by --speed; --keep-times leaves them.

Flags:
`

var errHelp = errors.New("help was asked for")

// exitUsage is the exit code for a wrong command line.
const exitUsage = 2

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.headless, "headless", false, "no dashboard: print the kubeconfig's path as the first line, then wait for a signal")
	flags.BoolVar(&o.untilEOF, "until-eof", false, "with --headless: end when standard input ends, too")
	flags.Float64Var(&o.speed, "speed", 1, "how many times as fast as the clock")
	flags.Uint64Var(&o.seed, "seed", 1, "which jobs are started by hand, and in which order")
	flags.BoolVar(&o.quiet, "quiet", false, "start no jobs beyond those of the schedules")
	flags.BoolVar(&o.verbose, "verbose", false, "with --headless: print what the simulated server warns of")
	flags.BoolVar(&o.sequence, "sequence", false, "replay: one recording after the other")
	flags.BoolVar(&o.keepTimes, "keep-times", false, "replay: leave the times in status as they were recorded")
	flags.DurationVar(&o.interval, "interval", time.Second, "replay: time between two snapshots, which have no times of their own")
	flags.DurationVar(&o.delay, "delay", 0, "replay: wait so long before the first event")
	flags.BoolVar(&o.waitInput, "wait", false, "replay --headless: wait for a line on standard input before the first event")
	flags.BoolVar(&o.exitAtDone, "exit", false, "replay --headless: end after the last event")
	fail := func(err error) (options, error) {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(errOut, usage)
			flags.SetOutput(errOut)
			flags.PrintDefaults()
			return o, errHelp
		}
		return o, fmt.Errorf("%w (see demo --help)", err)
	}
	own, veltui := splitArgs(args)
	o.veltui = veltui
	if err := flags.Parse(own); err != nil {
		return fail(err)
	}
	var words []string
	for rest := flags.Args(); len(rest) > 0; rest = flags.Args() {
		words = append(words, rest[0])
		if err := flags.Parse(rest[1:]); err != nil {
			return fail(err)
		}
	}
	return o, o.check(words)
}

// splitArgs divides at "--". What follows it goes to the dashboard, but for
// `-- replay DIR`, which is how `go run` habits write a command.
func splitArgs(args []string) (own, veltui []string) {
	for n, arg := range args {
		if arg != "--" {
			continue
		}
		if len(args) > n+1 && args[n+1] == "replay" {
			rest, veltui := splitArgs(args[n+1:])
			return append(append([]string{}, args[:n]...), rest...), veltui
		}
		return args[:n], args[n+1:]
	}
	return args, nil
}

func (o *options) check(words []string) error {
	switch {
	case len(words) == 0:
	case words[0] != "replay":
		return fmt.Errorf("unknown command %q (see demo --help)", words[0])
	case len(words) != 2:
		return errors.New("replay needs one folder: demo replay DIR")
	default:
		o.replay = words[1]
	}
	switch {
	case o.speed < 0.1 || o.speed > 1000:
		return fmt.Errorf("--speed %g is not between 0.1 and 1000", o.speed)
	case o.interval <= 0:
		return fmt.Errorf("--interval %s is not above zero", o.interval)
	case o.delay < 0:
		return fmt.Errorf("--delay %s is below zero", o.delay)
	case !o.headless && (o.untilEOF || o.waitInput || o.exitAtDone || o.verbose):
		return errors.New("--until-eof, --wait, --exit and --verbose need --headless")
	case o.replay == "" && (o.sequence || o.keepTimes || o.delay > 0 || o.waitInput || o.exitAtDone):
		return errors.New("--sequence, --keep-times, --delay, --wait and --exit need replay")
	case o.headless && len(o.veltui) > 0:
		return errors.New("with --headless there is no dashboard to give flags to")
	}
	return nil
}
