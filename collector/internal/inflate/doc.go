// Package inflate decodes gzip (RFC 1952, RFC 1951) into large blocks that are handed over without being copied.
//
// It exists because inflating takes most of the time of reading a backup, and because a backup stores every object
// twice: most of the stream is long matches. A Decoder writes straight into the block that its reader uses, in one
// loop for all input, and a second goroutine can read a block while the next one is decoded.
//
// Decoder allocates its tables once; its memory does not depend on its input.
package inflate
