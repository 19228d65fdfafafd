// Package repo tests the repository itself: which package imports which, whose clients
// use the session's transport, how files are opened, and whether the documents say what
// the program does. It has no code but its tests, which read the tree from its root.
package repo
