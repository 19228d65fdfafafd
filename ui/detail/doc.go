// Package detail shows what is no job. A [Tab] is one of the dashboard's lists:
// its columns and rows are data, made from an assessment. Behind a row is a
// [Page], data too: a title, notes, and sections with fields, tables and a small
// picture. [Screen] shows it, follows it by its key while the cluster changes,
// and says when the thing is gone.
//
// To add a tab, write a func() Tab in a package of its own and name it in ui
// (dashboard.go, otherTabs). Nothing here knows what the things are.
package detail
