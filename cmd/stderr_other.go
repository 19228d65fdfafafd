//go:build !unix

package cmd

import "io"

// divertStderr does nothing where file descriptors cannot be duplicated.
func divertStderr(io.Writer) (restore func(), err error) { return func() {}, nil }
