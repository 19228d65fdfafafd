// Package ui is the dashboard: a Bubble Tea program that draws what package assess makes of snapshots,
// and turns keys into actions. It knows no Kubernetes client.
//
// Its door is [Run]. The root [Model] routes messages and draws the frame. It imports the packages of
// the screens, such as jobview and dialog; none of them imports the root.
//
// I/O and heavy reckoning happen in commands: a single outstanding command waits for the next
// snapshot, judges it, and is armed again by Update, so that a key never waits behind a flood of
// events. What takes longer is asked for through package fetch.
//
// The open screens lie on each other in a stack (screen.go): the one on top is drawn and gets the
// keys, all of them get messages and new assessments.
//
// When the program ends, the last word of a plan that is applied is waited for and printed
// (exitMessages in run.go).
package ui
