// Package dialog leads a person through the actions that change the cluster: from
// the evidence to the plans that it allows, a typed confirmation, the dry run,
// the attempts, and the outcome, for one job or for several one after another.
//
// The plans and their outcomes are those of package action; what is said of them is in
// words.go. What the dialog guards is the same for every action: it is
// deaf at first, nothing but the typed name confirms, a plan is applied in a command of
// its own that never waits for the screen, and the program ends only when it is known
// what was sent.
package dialog
