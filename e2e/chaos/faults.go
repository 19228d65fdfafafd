package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// faultActs are the faults that end by themselves, as in a cluster: a container
// is restarted by its kubelet, an API server comes back.
var faultActs = map[Act]func(*storyRun, context.Context, Step) error{
	CrashServer: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(
			ctx,
			s,
			func() error { return r.lab.KillVelero(ctx) },
			func() error { return r.lab.StartVelero(ctx, r.flags...) },
		)
	},
	RollOutServer:  func(r *storyRun, ctx context.Context, s Step) error { return r.rollOut(ctx, s, "") },
	RollBackServer: rollBack,
	PauseServer: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.PauseVelero, r.lab.ResumeVelero)
	},
	PauseAPIServer: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.PauseAPIServer, r.lab.ResumeAPIServer)
	},
	KillAPIServer: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.KillAPIServer, func() error { return r.lab.StartAPIServer(ctx) })
	},
	PauseEtcd: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.PauseEtcd, r.lab.ResumeEtcd)
	},
	PauseStore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.PauseS3, r.lab.ResumeS3)
	},
	KillStore: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, r.lab.KillS3, func() error { return r.lab.StartS3(ctx) })
	},
	SecondServer: runSecondServer,
	RestartAgent: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(
			ctx,
			s,
			func() error { return r.lab.CrashNodeAgent(ctx, 1) },
			func() error { return r.lab.RunNodeAgent(ctx) },
		)
	},
	RollOutAgent: func(r *storyRun, ctx context.Context, s Step) error {
		s.Length = min(s.Length, 15*time.Second) // an image is pulled
		return r.causeOutage(
			ctx,
			s,
			func() error { return r.endAgent(ctx) },
			func() error { return r.lab.RunNodeAgent(ctx) },
		)
	},
	// DrainNode cordons the node and takes its node-agent away, which comes back when the
	// node does.
	DrainNode: func(r *storyRun, ctx context.Context, s Step) error {
		return r.causeOutage(ctx, s, func() error {
			return errors.Join(r.lab.CordonNode(ctx, true), r.endAgent(ctx))
		}, func() error {
			return errors.Join(r.lab.CordonNode(ctx, false), r.lab.RunNodeAgent(ctx))
		})
	},
}

// agentGrace is how long a node-agent may take to end.
const agentGrace = 10 * time.Second

func (r *storyRun) endAgent(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, agentGrace)
	defer cancel()
	return r.lab.TerminateNodeAgent(patience)
}

// runSecondServer runs another server beside the first, as a Deployment does that somebody
// scales to two. It marks what is InProgress as Failed when it starts, takes jobs from
// the first, and leaves those unfinished that it works on when it ends.
func runSecondServer(r *storyRun, ctx context.Context, s Step) error {
	return r.causeOutage(ctx, s, func() error {
		return r.lab.StartSecondServer(ctx, r.flags...)
	}, func() error {
		patience, cancel := context.WithTimeout(ctx, agentGrace)
		defer cancel()
		return r.lab.StopSecondServer(patience)
	})
}

// causeOutage takes something away for the step's length. One thing is away at a time.
func (r *storyRun) causeOutage(ctx context.Context, s Step, begin, end func() error) error {
	r.serverLock.Lock()
	defer r.serverLock.Unlock()
	r.recordFault(s.Name, "begins")
	defer r.recordFault(s.Name, "ends")
	if err := begin(); err != nil {
		return errors.Join(err, end())
	}
	sleepContext(ctx, s.Length)
	return end()
}

func (r *storyRun) recordFault(name, what string) {
	r.recording.AddEntry(Entry{Kind: FaultEntry, Text: name + " " + what})
}

// rollOut replaces the server by one with other flags, of the programs in a
// folder unless that is empty. A person does that, so what it ends has not gone
// on by itself.
func (r *storyRun) rollOut(ctx context.Context, s Step, folder string) error {
	r.serverLock.Lock()
	defer r.serverLock.Unlock()
	r.recordFault(s.Name, "begins")
	defer r.recordFault(s.Name, "ends")
	// Nothing of what follows by this is Velero's own doing.
	r.recordRepair("", s.Name)
	flags := append([]string{}, r.flags...)
	if folder != "" {
		flags = r.story.Limits.ServerFlags(queuesBackups(versionOf(folder)))
	}
	flags = append(flags, fmt.Sprintf("--client-page-size=%d", 400+int(s.At.Seconds())))
	if err := r.lab.RollOutVelero(ctx, 30*time.Second, folder, flags...); err != nil {
		return err
	}
	r.flags = flags
	return nil
}

// rollBack rolls the server back to an older version while a backup is queued:
// one without a queue does not know such a phase.
func rollBack(r *storyRun, ctx context.Context, s Step) error {
	queues, behind := r.hasBackupQueue(), s.Name+"-behind"
	if err := r.createBackup(
		ctx,
		s.Name,
		veleroapi.BackupSpec{},
		lab.Annotations{lab.HoldAnnotation: s.Name},
	); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Backup", s.Name, "begin", lab.InPhase("InProgress")); err != nil {
		return err
	}
	if err := r.createBackup(ctx, behind, backupOf(s.Name), nil); err != nil {
		return err
	}
	sleepContext(ctx, 5*time.Second)
	if err := r.rollOut(ctx, s, r.older); err != nil {
		return err
	}
	if queues && !r.hasBackupQueue() {
		return r.recordDeath("backup/" + behind)
	}
	return nil
}

// crashWithMark kills the server while a restore runs and a backup is ready to
// start. The next one may not mark the restore as Failed, and does not look at
// the backup.
func crashWithMark(r *storyRun, ctx context.Context, s Step) error {
	if err := r.denyPhases(ctx, "Restore", s.Name, "Failed"); err != nil {
		return err
	}
	if err := r.createRestore(
		ctx,
		s.Name,
		baseBackup,
		sourceNamespace,
		lab.Annotations{lab.HoldAnnotation: s.Name},
	); err != nil {
		return err
	}
	if _, err := r.awaitJob(ctx, "Restore", s.Name, "begin", lab.InPhase("InProgress")); err != nil {
		return err
	}
	if r.hasBackupQueue() {
		if err := r.createReadyBackup(ctx, s.Name); err != nil {
			return err
		}
	}
	sleepContext(ctx, 5*time.Second)
	r.serverLock.Lock()
	defer r.serverLock.Unlock()
	_, logged, err := r.lab.VeleroLog(0)
	if err != nil {
		return err
	}
	r.recordFault(s.Name, "begins")
	defer r.recordFault(s.Name, "ends")
	if err := r.lab.KillVelero(ctx); err != nil {
		return err
	}
	sleepContext(ctx, min(s.Length, 20*time.Second))
	if r.hasBackupQueue() {
		if err := r.lab.AllowPhases(ctx, "Backup", s.Name); err != nil {
			return err
		}
	}
	if err := r.lab.StartVelero(ctx, r.flags...); err != nil {
		return err
	}
	if err := r.lab.AwaitLog(ctx, logged, "failed to patch restore", s.Name); err != nil {
		return err
	}
	if r.hasBackupQueue() {
		if err := r.recordDeath("backup/" + s.Name); err != nil {
			return err
		}
	}
	return r.recordDeath("restore/" + s.Name)
}

// createReadyBackup makes a backup that the server cannot start.
func (r *storyRun) createReadyBackup(ctx context.Context, name string) error {
	if err := r.denyPhases(ctx, "Backup", name, "InProgress"); err != nil {
		return err
	}
	if err := r.createFilledNamespace(ctx, name+"-ready", 3); err != nil {
		return err
	}
	if err := r.lab.CreateBackup(ctx, name, backupOf(name+"-ready"), nil); err != nil {
		return err
	}
	_, err := r.awaitJob(ctx, "Backup", name, "be ready", lab.InPhase("ReadyToStart"))
	return err
}
