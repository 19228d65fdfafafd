// Package ui is the dashboard: a Bubble Tea program that draws the assessments that package assess makes of
// snapshots, and turns keys into actions. It has no Kubernetes client.
//
// Its entry point is [Run]. The root [Model] routes messages and draws the frame. It imports the packages of the
// screens, such as jobview and dialog; none of them imports the root.
//
// I/O and expensive computations run in commands: a single outstanding command waits for the next snapshot, judges
// it, and is armed again by Update, so that a key never waits behind a flood of events. Slower requests go through
// package fetch.
//
// The open screens form a stack (screen.go): the one on top is drawn and gets the keys, all of them get messages and
// new assessments.
//
// When the program ends, it waits for the result of a plan that is being applied and prints it (exitMessages in
// run.go).
package ui
