// Package dialog leads a person through the actions that change the cluster, for one job or several:
// evidence, plans, a typed confirmation, the dry run, the attempts, and the outcome.
//
// It guards the same for every action: it is deaf at first, nothing but the typed name confirms, a
// plan is applied in a command of its own that never waits for the screen, and the program ends only
// when it is known what was sent.
package dialog
