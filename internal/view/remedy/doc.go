// Package remedy words the plans of package action for a job or another resource: their changes, their consequences,
// the steps of applying them, and the outcome. The dialog, `finalize`, `explain` and the report lay out these texts.
//
// The package is pure.
package remedy
