// Command demo runs veltui with no cluster at all: a local control plane on
// loopback, a simulated Velero that obeys the real one's rules, and the real
// dashboard against both. It stops all of it when the dashboard ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, dashboard))
}

// run is main with everything passed in. It returns the exit code.
func run(ctx context.Context, args []string, s streams, show showFunc) int {
	options, err := parse(args, s.err)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintln(s.err, "demo:", err)
		return exitUsage
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	if err := play(ctx, options, s, show); err != nil && context.Cause(ctx) == nil {
		fmt.Fprintln(s.err, "demo:", err)
		return exitCode(err)
	}
	return 0
}
