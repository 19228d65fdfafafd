// Package view has the model of what veltui shows: texts with a [Tone], the [Cell] and [Column] of tables, and
// the [Page] of one resource. A subject is worded once, here or in a package below; the screen and the commands
// print what they get.
//
// The package is pure.
package view
