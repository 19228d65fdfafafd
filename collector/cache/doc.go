// Package cache keeps what was read from backups' tarballs, so that one backup is downloaded once: by all who ask at
// the same time, and by later runs of the program.
//
// Its door is [Open]. (*Cache).Index looks in memory, then on disk, and else has the caller read the backup. What is
// on disk are encoded indexes (names, kinds and labels, never an object's body), one file a backup, named after the
// cluster and the backup's uid and readable by its owner only. Each says in its header which backup of which cluster
// it is of. A file that is damaged, of another backup or cluster, or written by another version, is as good as none:
// it is replaced, and the log says so.
package cache
