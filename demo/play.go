package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/veltui/veltui/demo/replay"
	scene "github.com/veltui/veltui/demo/oldscene"
	"github.com/veltui/veltui/testbed"
)

// streams are where the demo reads from and writes to.
type streams struct {
	in, out, err *os.File
}

// showFunc runs the dashboard against the kubeconfig and returns its exit code.
type showFunc func(ctx context.Context, kubeconfig string, args []string, s streams) int

// untilSignal ends the context at the first signal that asks for an end.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// play starts the control plane, plays on it, and stops it again. If this
// process dies on the way, the test bed's watchdog stops it.
func play(ctx context.Context, o options, s streams, show showFunc) (err error) {
	var recordings []replay.Recording
	if o.replay != "" {
		// A wrong folder costs nothing: it is read before anything starts.
		if recordings, err = replay.Load(o.replay, o.interval); err != nil {
			return err
		}
	}
	if o.headless {
		// The dashboard brings a place for controller-runtime's log; without
		// it there is none.
		ctrllog.SetLogger(logr.Discard())
	}
	fmt.Fprintln(s.err, "demo: starting a control plane on loopback ...")
	plane, err := testbed.Start(ctx, testbed.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if o.replay != "" {
		return playRecordings(ctx, plane, recordings, o, s, show)
	}
	return playScene(ctx, plane, o, s, show)
}

func playScene(ctx context.Context, plane *testbed.ControlPlane, o options, s streams, show showFunc) (err error) {
	fmt.Fprintln(s.err, "demo: setting the stage ...")
	log := func(string, ...any) {}
	if o.verbose {
		log = func(format string, args ...any) { fmt.Fprintf(s.err, "velero: "+format+"\n", args...) }
	}
	stage, err := scene.Build(ctx, scene.Options{
		Config: plane.Config(), Scheme: testbed.Scheme(), Speed: o.speed, Seed: o.seed, Quiet: o.quiet, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	return during(ctx, stage.Run, func(ctx context.Context) error {
		return present(ctx, plane.Kubeconfig(), o, s, show)
	})
}

func playRecordings(ctx context.Context, plane *testbed.ControlPlane, recordings []replay.Recording, o options, s streams, show showFunc) error {
	api, err := client.New(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		return fmt.Errorf("connecting to the control plane: %w", err)
	}
	if err := scene.BuildServer(ctx, api, testbed.Scheme(), time.Now()); err != nil {
		return err
	}
	run := func(ctx context.Context) error {
		if o.waitInput {
			if _, err := bufio.NewReader(s.in).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("waiting for the line that starts the replay: %w", err)
			}
		}
		if err := sleep(ctx, o.delay); err != nil {
			return err
		}
		n, err := replay.Play(ctx, api, recordings, replay.Options{Speed: o.speed, KeepTimes: o.keepTimes, Sequence: o.sequence})
		if o.headless && err == nil {
			fmt.Fprintf(s.out, "replayed %d events of %d recordings\n", n, len(recordings))
		}
		return err
	}
	if o.headless && o.exitAtDone {
		fmt.Fprintln(s.out, plane.Kubeconfig())
		return run(ctx)
	}
	var played error
	err = during(ctx, func(ctx context.Context) { played = run(ctx) }, func(ctx context.Context) error {
		return present(ctx, plane.Kubeconfig(), o, s, show)
	})
	if errors.Is(played, context.Canceled) {
		played = nil
	}
	return errors.Join(err, played)
}

// during runs both at once; when the second ends, the first is told to end and
// waited for.
func during(ctx context.Context, first func(context.Context), second func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { first(ctx) })
	defer group.Wait()
	defer stop()
	return second(ctx)
}

// present shows the dashboard, or waits where there shall be none.
func present(ctx context.Context, kubeconfig string, o options, s streams, show showFunc) error {
	if o.headless {
		fmt.Fprintln(s.out, kubeconfig)
		if o.untilEOF && !o.waitInput {
			var stop context.CancelFunc
			ctx, stop = context.WithCancel(ctx)
			go func() {
				_, _ = io.Copy(io.Discard, s.in)
				stop()
			}()
		}
		<-ctx.Done()
		return nil
	}
	ended := make(chan int, 1)
	go func() {
		code := 1
		defer func() { ended <- code }()
		code = show(ctx, kubeconfig, o.veltui, s)
	}()
	select {
	case code := <-ended:
		return dashboardEnded(code)
	case <-ctx.Done():
	}
	// The dashboard hears the same signals; it gets a moment to put the
	// terminal back before the control plane goes away under it.
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
