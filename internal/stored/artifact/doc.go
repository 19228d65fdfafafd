// Package artifact fetches what Velero keeps of a job in object storage: a backup's tarball, logs, results,
// lists of items, operations and volumes.
//
// [New] makes a [Fetcher]. [Fetcher.Open] streams an artifact as it is stored, [Fetcher.OpenText] unpacks it,
// [Fetcher.Probe] asks whether it is there, and the other methods read the small artifacts.
//
// Velero hands out artifacts by DownloadRequest: a client creates one, the server writes a signed URL into its
// status, and anyone with that URL can read the object for ten minutes. A request of ours has a unique name. It is
// watched, trusted only while its uid and target are those that were created, and deleted as soon as the URL has been
// read, even if the download is cancelled.
//
// The URL is a secret and comes from an object that others can write. It stays inside this package: no error, log
// line or value that leaves it holds the query. The URL is followed without credentials or cookies, to no host other
// than its own, to no loopback, link-local or metadata address nor any other address of this machine unless it is the
// storage location's, with TLS always verified, and within [Limits]. A store without TLS on another machine is
// contacted only with [Options].AllowPlainHTTP.
//
// A store that only the cluster can reach is reached through the API server, by a port-forward to a ready pod of the
// Service that the URL names. The URL, the Host header and the name in the TLS handshake stay as they were signed. A
// port-forward uses the caller's rights in the cluster, so it is made only for a host that the storage location's
// configuration names.
package artifact
