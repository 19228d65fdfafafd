// Package action holds everything that veltui may do to a Backup or Restore that
// does not move, from evidence to outcome.
//
// [Engine.Gather] collects evidence, [Plans] turns it into plans or refusals (pure functions),
// and [Engine.Apply] applies one of them: it gathers again, makes a dry run, sends guarded JSON
// patches and observes what follows. Each action is one file and one entry of the registry:
// finalize, wake, cancel_volumes, and those that are only advised (restart, restart_node_agent,
// fix_field). The rules are those of Velero's own code: what its server marks at its start
// (pkg/cmd/server/server.go), what its finalizers take for granted
// (pkg/controller/{backup,restore}_finalizer_controller.go), and what its backup sync deletes
// (pkg/controller/backup_sync_controller.go).
//
// Nothing is ever written over a state that was not seen: each patch tests uid,
// resourceVersion and phase, and whatever else happened makes a new plan.
// docs/dev/invariants.md lists what no plan may ever do.
package action
