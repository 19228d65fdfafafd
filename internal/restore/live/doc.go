// Package live reads what the live cluster holds of the items that a restore concerns: of most
// kinds the metadata alone, in pages, and only in the namespaces that the question names. What
// could not be looked at is named with its reason, and is never taken for a no. It only lists.
package live
