// Package assets holds the files that are embedded into the binary.
package assets
