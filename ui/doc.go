// Package ui is the dashboard: a Bubble Tea program that draws what package
// assess makes of snapshots, and turns keys into actions. It knows no Kubernetes
// client.
//
// Its door is [Run]. The root [Model] routes messages and draws the frame; the
// screens are the dashboard in this package, one job (jobview) and an action
// under way (dialog). They are drawn with draw, and their keys are data (keys).
// The root imports these packages; none of them imports the root.
//
// I/O and heavy reckoning happen in commands: a single outstanding command waits
// for the next snapshot, enriches and judges it, and is armed again by Update, so
// that a key never waits behind a flood of events.
//
// The open screens lie on each other in a stack (screen.go): the one on top is drawn
// and gets the keys, all of them get messages and new assessments. What takes longer is
// asked for through package fetch.
//
// A plan of package action is applied in a command of its own and never waits for the
// screen; when the program ends, its last word is waited for and printed (exitMessages in
// run.go).
package ui
