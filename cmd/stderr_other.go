//go:build !unix

package cmd

import "io"

// redirectStderr does nothing where file descriptors cannot be duplicated.
func redirectStderr(io.Writer) (restore func(), err error) { return func() {}, nil }
