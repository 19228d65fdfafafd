// Package artifact fetches what Velero keeps of a job in object storage: a backup's tarball, logs, results,
// lists of items, operations and volumes.
//
// [New] makes a [Fetcher]. [Fetcher.Open] streams one artifact as it is stored, [Fetcher.OpenText] unpacks
// it, [Fetcher.Probe] asks whether it is there, and the others read the small ones.
//
// Velero hands out artifacts by DownloadRequest: a client creates one, the server writes a signed URL into
// its status, and anyone with that URL can read the object for ten minutes. A request of ours has a name of
// its own, is watched, trusted only while its uid and target are what was created, and deleted as soon as the
// URL has been read, also if the download is cancelled.
//
// The URL is a secret and comes from an object that others can write. It stays inside this package: no error,
// log line or value that leaves it holds the query. It is followed with no credentials or cookies, to no
// other host than its own, to no loopback, link-local or metadata address nor any other of this machine's own
// unless it is the storage location's, with TLS always verified, and within [Limits]. A store without TLS on
// another machine is asked only with [Options].AllowPlainHTTP.
//
// A store that only the cluster can reach is reached through the API server, by a port-forward to a ready pod
// of the Service that the URL names. The URL, the Host header and the name in the TLS handshake stay as they
// were signed. As that uses the caller's rights in the cluster, it is done only for the host that the storage
// location's configuration names.
package artifact
