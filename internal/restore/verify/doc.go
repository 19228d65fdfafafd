// Package verify holds what a restore was to bring back against what the target
// cluster holds now, item by item. Pure.
package verify
