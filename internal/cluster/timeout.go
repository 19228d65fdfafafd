package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// ErrOutOfTime is the cause when a context of [WithTimeout] ends: whatever was not read by then is unknown.
var ErrOutOfTime = errors.New("not read in time")

// WithTimeout limits how long the queries of a command may take; 0 means no limit.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(
		ctx,
		limit,
		fmt.Errorf("%w: it took longer than %s", ErrOutOfTime, human.Duration(limit)),
	)
}

// OutOfTimeCause returns the cause of a context that ended with [ErrOutOfTime], else nil.
func OutOfTimeCause(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrOutOfTime) {
		return cause
	}
	return nil
}
