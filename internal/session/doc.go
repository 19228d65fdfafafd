// Package session owns the connection to a cluster.
//
// Every client of an API server is built on [HTTPClient], or for upgraded connections on a configuration from
// [ProtectConfig]; a test of the module's root enforces that. The transport beneath them counts an answer's bytes
// after decompression and stops at a limit, follows no redirect, shortens Retry-After, and measures silence, cost and
// the server's clock ([Meter]). Lists are read with [ReadPages]. Reaching a limit is an [IncompleteError]: the data
// read is not complete.
//
// [Flags] are kubectl's flags that name the cluster and the user. [Warnings] and [WriteFailures] keep the API
// server's warnings and its errors on writes.
//
// The object store's client (package artifact) does not use this package: it has its own limits and redirects, and no
// credentials of the API server.
package session
