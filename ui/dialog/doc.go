// Package dialog leads a person through the actions that change the cluster, for one job or several: evidence, plans,
// a typed confirmation, the dry run, the attempts, and the outcome.
//
// It protects every action in the same way: it ignores keys at first, only the typed name confirms, a plan is applied
// in a command of its own that never waits for the screen, and the program ends only when it knows what was sent.
package dialog
