// Package verify compares what a restore was to bring back with what the target cluster holds now, item by item.
// Pure.
package verify
