// Package action holds every change that veltui makes to a cluster, from evidence to outcome: it helps jobs that do not
// progress, creates and deletes backups and restores, and pauses schedules.
//
// [Engine.GatherEvidence] collects evidence, [BuildPlans] turns it into plans or refusals (pure functions), and
// [Engine.ApplyPlan] applies one of them: it gathers again, makes a dry run, sends guarded requests and observes
// what follows. Each action is a type in a file of its own, such as finalize.go, with a line in allActions: an
// applicable action is carried out, any other only advised. The rules are those of Velero's own code: what its server
// marks at its start (pkg/cmd/server/server.go), what its finalizers take for granted
// (pkg/controller/{backup,restore}_finalizer_controller.go), and what its backup sync deletes
// (backup_sync_controller.go).
//
// Each patch tests uid, resourceVersion and phase: nothing is ever written over a state that the user was not shown.
// Each deletion has the uid and resourceVersion as preconditions, and each creation a name of its own, so that a
// repeated one makes no second object. docs/dev/invariants.md lists what no plan may ever do.
package action
