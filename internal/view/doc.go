// Package view models what veltui shows: texts with a [Tone], the [Cell] and [Column] of tables, and the [Page] of
// one resource. Each subject is worded once, here or in a package below; the screen and the commands only lay out
// these texts.
//
// The package is pure.
package view
