//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cmd

import (
	"context"
	"os"
)

// discardTypedAhead does nothing where terminals have no modes that we know.
func discardTypedAhead(ctx context.Context, _ *os.File) error { return context.Cause(ctx) }

// hasTypedAhead cannot tell there.
func hasTypedAhead(*os.File) bool { return false }

// discardOutput cannot there.
func discardOutput(*os.File) {}
