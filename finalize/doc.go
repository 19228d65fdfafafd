// Package finalize moves a Backup or Restore that nobody works on any more to
// the phase in which it should be: the most dangerous thing that veltui does.
//
// [Finalizer.Gather] collects evidence, [Draft] turns it into a [Plan] or a
// refusal (a pure function), and [Finalizer.Execute] carries the plan out: it
// looks again, makes a dry run, sends one guarded JSON patch and then observes
// whether it holds. [Ways] finds gentler ways out in the same evidence, and
// [Finalizer.Take] takes them with the same guards. The rules are those of
// Velero's own code: what its server marks at its start
// (pkg/cmd/server/server.go), what its finalizers take for granted
// (pkg/controller/{backup,restore}_finalizer_controller.go), and what its backup
// sync deletes (pkg/controller/backup_sync_controller.go).
//
// Nothing is ever written over a state that was not seen: the patch tests uid,
// resourceVersion and phase, and whatever else happened makes a new plan.
package finalize
