// Package replay plays recorded watches of a real cluster with their original timing on a cluster in memory: [Load]
// reads recordings, and [Play] plays one.
//
// A recording is a file watch.jsonl, or watch.jsonl.gz, of lines
// {"t":SECONDS,"type":"ADDED|MODIFIED|DELETED","object":{...}}; its name is that of its folder.
package replay
