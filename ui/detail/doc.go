// Package detail shows what is no job. A [Tab] is one of the dashboard's lists, as data made from an assessment.
// Behind a row is a [Page], data too. [Screen] shows it and follows it by its key while the cluster changes.
//
// To add a tab, write a func() Tab in a package of its own and name it in ui (dashboard.go, otherTabs).
package detail
