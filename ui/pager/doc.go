// Package pager scrolls through lines: it draws only the visible ones, selects, wraps and searches. The text of the
// lines comes from a [Source]; a page of a few lines is a [Lines].
//
// A pager does no I/O. A Source that is too long to be searched while a key waits is a [SearchableSource]: it is
// searched in a command, which a newer search cancels.
package pager
