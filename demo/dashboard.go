package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/veltui/veltui/cmd"
)

// dashboard runs the real dashboard in this process.
func dashboard(ctx context.Context, kubeconfig string, args []string, s streams) int {
	return cmd.Run(ctx, append([]string{"veltui", "--kubeconfig", kubeconfig}, args...), s.in, s.out, s.err)
}

// dashboardError is a dashboard that ended with an exit code of its own; it has
// said why itself.
type dashboardError int

func (e dashboardError) Error() string {
	return fmt.Sprintf("the dashboard ended with exit code %d", int(e))
}

func dashboardEnded(code int) error {
	if code == 0 {
		return nil
	}
	return dashboardError(code)
}

// exitCode is the process's exit code for an error of play.
func exitCode(err error) int {
	var dashboard dashboardError
	if errors.As(err, &dashboard) {
		return int(dashboard)
	}
	return 1
}
