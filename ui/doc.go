// Package ui is the dashboard: a Bubble Tea program that draws snapshots of
// package watch and turns keys into actions. It knows no Kubernetes client.
//
// Its door is [Run]. One root [Model] routes messages; the screens (dashboard,
// one job, help) are plain structs with an update and a view of their own.
// I/O and heavy reckoning happen in commands: a single outstanding command
// waits for the next snapshot, digests it, and is armed again by Update, so
// that nothing ever sends into the program from outside and a key never waits
// behind a flood of events.
//
// Over a screen there may be the finalize dialog (finalizedialog.go), which
// reaches package finalize through the [Finalizer]. An execution runs in a
// command of its own and never waits for the screen; when the program ends, its
// last word is waited for and printed (partingWords in run.go).
package ui
