// Package pager scrolls through lines: it draws only those that are visible, selects, wraps and searches.
// What the lines say is its [Source]'s matter; a page of a few lines is a [Lines].
//
// A pager does no I/O. A Source that is too long to be searched while a key
// waits is a [Finder]: it is searched in a command, which a newer search ends.
package pager
