// Package live reads what the live cluster holds of the items that a restore concerns: of most kinds only the
// metadata, in pages, and only in the namespaces that the query names. What could not be checked is named with its
// reason, and never counts as absent. It only lists.
package live
