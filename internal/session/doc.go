// Package session owns the connection to a cluster.
//
// Every client of an API server is built on [HTTPClient], or for upgraded connections on a configuration
// from [Protect]; a test of the module's root enforces that. The transport beneath them counts what an
// answer has after decompression and stops at a limit, follows no redirect, shortens Retry-After, and
// measures silence, cost and the server's clock ([Meter]). Lists are read with [Pages]. A limit that was
// reached is an [IncompleteError]: what was read is not all there is.
//
// [Flags] are kubectl's flags that name the cluster and the user. [Warnings] and
// [WriteFailures] keep what the API server says beside its answers.
//
// The object store's client (package artifact) is not built on it: it has limits and
// redirects of its own, and no credentials of the API server.
package session
