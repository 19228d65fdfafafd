// Package replay plays recordings of what a watch of a real cluster saw, with
// their own timing, on a cluster in memory. Its doors are [Load] and [Play].
//
// A recording is a file watch.jsonl, or watch.jsonl.gz, of lines
// {"t":SECONDS,"type":"ADDED|MODIFIED|DELETED","object":{...}}; its name is that
// of the folder it lies in.
package replay
