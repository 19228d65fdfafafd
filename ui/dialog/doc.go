// Package dialog leads a person through an action that changes the cluster: from
// the evidence to the plans that it allows, a typed confirmation, the dry run,
// the attempts, and the outcome, for one job or for several one after another.
//
// It does not know which action it shows. An [Engine] makes [Plan]s and applies
// them; all words about a plan are the engine's. What the dialog guards is the
// same for every action: it is deaf at first, nothing but the typed name
// confirms, a plan is applied in a command of its own that never waits for the
// screen, and the program ends only when it is known what was sent.
package dialog
