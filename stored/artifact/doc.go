// Package artifact fetches what Velero keeps of a job in object storage: a
// backup's tarball, logs, results, lists of items, operations and volumes.
//
// Its door is [New], which makes a [Fetcher]. [Fetcher.Open] streams one
// artifact as it is stored, [Fetcher.OpenText] unpacks it on the way,
// [Fetcher.Probe] asks whether it is there at all, and [Fetcher.Results],
// [Fetcher.ResourceList], [Fetcher.ItemOperations] and [Fetcher.Volumes] read
// the small ones.
//
// # How it is put together
//
// Velero hands out artifacts by DownloadRequest: a client creates one, the
// server writes a signed URL into its status, and anyone with that URL can read
// the object for ten minutes. A request of ours has a name of its own, is
// waited for by watch, trusted only while its uid and target are what was
// created, and deleted as soon as the URL has been read: a download that is
// cancelled or killed leaves none behind.
//
// The URL is a secret and comes from an object that others can write. It stays
// inside this package: no error, log line or value that leaves it holds the
// query, whatever the object store or a library put into an error. It is
// followed with no credentials or cookies, to no other host than its own, to
// no loopback, link-local or metadata address nor any other of this machine's
// own unless it is the storage location's, with TLS always verified, and within
// [Limits]. A store without TLS on another machine is asked only where
// [Options].AllowPlainHTTP agrees to that.
//
// A store that only the cluster can reach is reached through the API server, by
// a port-forward to a ready pod of the Service that the URL names. Only the
// connection goes there: the URL, the Host header and the name in the TLS
// handshake stay as they were signed. As that uses the caller's rights in the
// cluster, it is done only for the host that the storage location's
// configuration names.
package artifact
