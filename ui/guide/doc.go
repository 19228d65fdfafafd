// Package guide leads a newcomer, who sees veltui for the first time, to one stuck job, and through its end: one
// hint at a time above the keys, by what is on the screen. It knows no screen: it is told which one it is.
package guide
