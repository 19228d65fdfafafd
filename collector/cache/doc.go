// Package cache keeps the indexes of backups' tarballs, so that a backup is downloaded only once: for all concurrent
// callers, and for later runs of the program.
//
// [Open] returns a cache. (*Cache).Index looks in memory, then on disk, and otherwise lets the caller read the
// backup. The files on disk are encoded indexes (names, kinds and labels, never an object's body), one per backup,
// named after the cluster and the backup's uid and readable by their owner only. The header of each file names its
// backup and cluster. A file that is damaged, of another backup or cluster, or written by another version is
// replaced, and the log says so.
package cache
