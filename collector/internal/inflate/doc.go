// Package inflate decodes gzip (RFC 1952, RFC 1951) into large blocks that are handed over without being copied.
//
// It exists because inflating is where the time of reading a backup goes, and because a backup stores every
// object twice: most of the stream is long matches. A Decoder writes straight into the block that its
// reader will look at, in one loop for all input, and makes blocks that a second goroutine can read while
// the next one is being made.
//
// Decoder allocates its tables once; its memory does not depend on its input.
package inflate
