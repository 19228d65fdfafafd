//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cmd

import (
	"context"
	"os"
)

// awaitQuiet does nothing where terminals have no modes that we know.
func awaitQuiet(ctx context.Context, _ *os.File) error { return context.Cause(ctx) }

// moreInput cannot tell there.
func moreInput(*os.File) bool { return false }
