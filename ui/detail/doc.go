// Package detail draws the rows and the pages of resources other than jobs, which package view provides as data.
// [Screen] shows the [view.Page] behind a row and follows it by its key while the cluster changes.
package detail
