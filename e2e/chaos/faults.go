package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/e2e/lab"
)

// faultActs are the faults that end by themselves, as in a cluster: a container
// is restarted by its kubelet, an API server comes back.
var faultActs = map[Act]func(*run, context.Context, Step) error{
	CrashServer: func(r *run, ctx context.Context, s Step) error {
		return r.outage(
			ctx,
			s,
			func() error { return r.lab.KillVelero(ctx) },
			func() error { return r.lab.StartVelero(ctx, r.flags...) },
		)
	},
	RollOutServer:  func(r *run, ctx context.Context, s Step) error { return r.rollOut(ctx, s, "") },
	RollBackServer: rollBack,
	PauseServer: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.PauseVelero, r.lab.ResumeVelero)
	},
	PauseAPIServer: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.PauseAPIServer, r.lab.ResumeAPIServer)
	},
	KillAPIServer: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.KillAPIServer, func() error { return r.lab.StartAPIServer(ctx) })
	},
	PauseEtcd: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.PauseEtcd, r.lab.ResumeEtcd)
	},
	PauseStore: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.PauseS3, r.lab.ResumeS3)
	},
	KillStore: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, r.lab.KillS3, func() error { return r.lab.StartS3(ctx) })
	},
	SecondServer: secondServer,
	RestartAgent: func(r *run, ctx context.Context, s Step) error {
		return r.outage(
			ctx,
			s,
			func() error { return r.lab.CrashNodeAgent(ctx, 1) },
			func() error { return r.lab.RunNodeAgent(ctx) },
		)
	},
	RollOutAgent: func(r *run, ctx context.Context, s Step) error {
		s.Length = min(s.Length, 15*time.Second) // an image is pulled
		return r.outage(
			ctx,
			s,
			func() error { return r.endAgent(ctx) },
			func() error { return r.lab.RunNodeAgent(ctx) },
		)
	},
	// DrainNode cordons the node and takes its node-agent away, which comes back when the
	// node does.
	DrainNode: func(r *run, ctx context.Context, s Step) error {
		return r.outage(ctx, s, func() error {
			return errors.Join(r.lab.CordonNode(ctx, true), r.endAgent(ctx))
		}, func() error {
			return errors.Join(r.lab.CordonNode(ctx, false), r.lab.RunNodeAgent(ctx))
		})
	},
}

// agentGrace is how long a node-agent may take to end.
const agentGrace = 10 * time.Second

func (r *run) endAgent(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, agentGrace)
	defer cancel()
	return r.lab.EndNodeAgent(patience)
}

// secondServer runs another server beside the first, as a Deployment does that somebody
// scales to two. It marks what is InProgress as Failed when it starts, takes jobs from
// the first, and leaves those unfinished that it works on when it ends.
func secondServer(r *run, ctx context.Context, s Step) error {
	return r.outage(ctx, s, func() error {
		return r.lab.StartSecondServer(ctx, r.flags...)
	}, func() error {
		patience, cancel := context.WithTimeout(ctx, agentGrace)
		defer cancel()
		return r.lab.StopSecondServer(patience)
	})
}

// outage takes something away for the step's length. One thing is away at a time.
func (r *run) outage(ctx context.Context, s Step, begin, end func() error) error {
	r.server.Lock()
	defer r.server.Unlock()
	r.fault(s.Name, "begins")
	defer r.fault(s.Name, "ends")
	if err := begin(); err != nil {
		return errors.Join(err, end())
	}
	sleep(ctx, s.Length)
	return end()
}

func (r *run) fault(name, what string) { r.out.Add(Entry{Kind: FaultEntry, Text: name + " " + what}) }

// rollOut replaces the server by one with other flags, of the programs in a
// folder unless that is empty. A person does that, so what it ends has not gone
// on by itself.
func (r *run) rollOut(ctx context.Context, s Step, folder string) error {
	r.server.Lock()
	defer r.server.Unlock()
	r.fault(s.Name, "begins")
	defer r.fault(s.Name, "ends")
	// Nothing of what follows by this is Velero's own doing.
	r.repair("", s.Name)
	flags := append([]string{}, r.flags...)
	if folder != "" {
		flags = r.story.Limits.Flags(queuesBackups(versionOf(folder)))
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
func rollBack(r *run, ctx context.Context, s Step) error {
	queues, behind := r.queues(), s.Name+"-behind"
	if err := r.backup(ctx, s.Name, velerov1.BackupSpec{}, lab.Annotations{lab.Hold: s.Name}); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Backup", s.Name, "begin", lab.InPhase("InProgress")); err != nil {
		return err
	}
	if err := r.backup(ctx, behind, backupOf(s.Name), nil); err != nil {
		return err
	}
	sleep(ctx, 5*time.Second)
	if err := r.rollOut(ctx, s, r.older); err != nil {
		return err
	}
	if queues && !r.queues() {
		return r.dies("backup/" + behind)
	}
	return nil
}

// crashWithMark kills the server while a restore runs and a backup is ready to
// start. The next one may not mark the restore as Failed, and does not look at
// the backup.
func crashWithMark(r *run, ctx context.Context, s Step) error {
	if err := r.deny(ctx, "Restore", s.Name, "Failed"); err != nil {
		return err
	}
	if err := r.restore(ctx, s.Name, base, source, lab.Annotations{lab.Hold: s.Name}); err != nil {
		return err
	}
	if _, err := r.await(ctx, "Restore", s.Name, "begin", lab.InPhase("InProgress")); err != nil {
		return err
	}
	if r.queues() {
		if err := r.readyBackup(ctx, s.Name); err != nil {
			return err
		}
	}
	sleep(ctx, 5*time.Second)
	r.server.Lock()
	defer r.server.Unlock()
	_, logged, err := r.lab.VeleroLog(0)
	if err != nil {
		return err
	}
	r.fault(s.Name, "begins")
	defer r.fault(s.Name, "ends")
	if err := r.lab.KillVelero(ctx); err != nil {
		return err
	}
	sleep(ctx, min(s.Length, 20*time.Second))
	if r.queues() {
		if err := r.lab.Allow(ctx, "Backup", s.Name); err != nil {
			return err
		}
	}
	if err := r.lab.StartVelero(ctx, r.flags...); err != nil {
		return err
	}
	if err := r.lab.AwaitLog(ctx, logged, "failed to patch restore", s.Name); err != nil {
		return err
	}
	if r.queues() {
		if err := r.dies("backup/" + s.Name); err != nil {
			return err
		}
	}
	return r.dies("restore/" + s.Name)
}

// readyBackup makes a backup that the server cannot start.
func (r *run) readyBackup(ctx context.Context, name string) error {
	if err := r.deny(ctx, "Backup", name, "InProgress"); err != nil {
		return err
	}
	if err := r.namespaceWith(ctx, name+"-ready", 3); err != nil {
		return err
	}
	if err := r.lab.CreateBackup(ctx, name, backupOf(name+"-ready"), nil); err != nil {
		return err
	}
	_, err := r.await(ctx, "Backup", name, "be ready", lab.InPhase("ReadyToStart"))
	return err
}
