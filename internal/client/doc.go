// Package client asks an API server for objects of any kind, as JSON, and for the kinds that it serves.
//
// Creates, patches and self-reviews go through controller-runtime's client, which only this package imports. The other
// requests stay on REST:
//
//   - Reads and lists: controller-runtime decodes through a scheme, which loses fields that a type does not have, and
//     costs time and memory for large lists.
//   - Deletions: the answer proves a dry run, and controller-runtime drops the answer.
//   - Discovery: the server lists the preferred version of a group first, and client-go's discovery, which
//     controller-runtime uses, returns the resources of all groups in random order.
//
// All requests use one HTTP client and share one request budget.
package client
