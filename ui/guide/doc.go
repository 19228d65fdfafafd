// Package guide leads a newcomer, who sees veltui for the first time, to one stuck job and to its end: one hint at a
// time above the keys, depending on what is on the screen. The package does not know the screens: its caller names
// the present one.
package guide
