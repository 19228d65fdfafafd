// Package cache keeps what was read from backups' tarballs, so that one backup is downloaded once: by all who ask at
// the same time, and by later runs of the program.
//
// Its door is [Open]. (*Cache).Index looks in memory, then on disk, and else has the caller read the backup. What is
// on disk are encoded indexes (names, kinds and labels, never an object's body), one file a backup, named after the
// cluster and the backup's uid and readable by its owner only. A file that is damaged, or was written by another
// version, is as good as none and is replaced.
package cache
