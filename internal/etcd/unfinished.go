package etcd

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

func (a *judgment) judgePending(b *Backup) diagnosis.Verdict {
	if b.IsProcessed {
		return a.judgeStatusLost(b)
	}
	if !a.cluster.wasRead(ResourceJobs) {
		a.noteUnchecked(ResourceJobs)
		return a.Conclude(diagnosis.Unknown, JobsHidden, "", "the Job cannot be seen, nor whether it runs")
	}
	switch j := b.Job; {
	case j == nil:
		// The operator finds no Job and makes another one (backupcontroller.go, sync).
		a.AddSupport(diagnosis.SourceWatch, time.Time{}, "there is no Job %s in namespace %s", b.JobName, Namespace)
		return a.Conclude(
			diagnosis.Waiting,
			JobGone,
			"If this lasts for more than three minutes: "+operatorAdvice,
			"the Job is gone; the operator makes another within a minute",
		)
	case j.Result == "":
		return a.judgeRunning(b)
	case a.durationSince(j.Ended) < maxOperatorSilence:
		a.noteJobFacts(j)
		return a.Conclude(
			diagnosis.Waiting,
			ResultPending,
			"",
			"the Job is %s, and the operator is about to say so",
			j.Result,
		)
	default:
		a.noteJobFacts(j)
		return a.concludeStuck(
			diagnosis.ProveOwnerGone,
			OperatorSilent,
			operatorAdvice,
			"the Job ended %s ago (%s), and the operator has not said so",
			a.formatAgo(j.Ended),
			j.Result,
		)
	}
}

// judgeStatusLost judges a backup that the operator has finished without a result. The operator sets the label before
// the status; a backup with the label is never checked again, and its Job is deleted (backupcontroller.go,
// reconcileJobStatus, sync).
func (a *judgment) judgeStatusLost(b *Backup) diagnosis.Verdict {
	a.AddSupport(
		diagnosis.SourceWatch,
		time.Time{},
		"label %s=%s: the operator never looks at it again",
		stateLabel,
		processedState,
	)
	if b.Job != nil && b.Job.Result != "" {
		a.noteJobFacts(b.Job)
		return a.concludeStuck(
			diagnosis.ProveOwnerGone,
			StatusLost,
			"The Job tells how the backup ended. "+newBackupAdvice,
			"the Job is %s, but the operator did not record that and will not retry",
			b.Job.Result,
		)
	}
	a.noteUnchecked(ResourceJobs)
	return a.concludeStuck(
		diagnosis.ProveOwnerGone,
		StatusLost,
		newBackupAdvice,
		"the operator has finished without recording the result, and will not retry",
	)
}

func (a *judgment) judgeRunning(b *Backup) diagnosis.Verdict {
	j := b.Job
	a.noteJobFacts(j)
	p := j.activePod()
	switch {
	case p == nil && !a.cluster.wasRead(ResourcePods):
		a.noteUnchecked(ResourcePods)
		if a.durationSince(j.Started) < j.Deadline {
			return a.Conclude(
				diagnosis.Waiting,
				BackupRunning,
				"",
				"the Job has run for %s; each of its pods may run for %s",
				a.formatAgo(j.Started),
				human.Duration(j.Deadline),
			)
		}
		return a.Conclude(
			diagnosis.Unknown,
			diagnosis.PodsHidden,
			"",
			"the Job has run for %s, and the pods cannot be seen",
			a.formatAgo(j.Started),
		)
	case p == nil && j.FailedPods > 0:
		return a.judgeRetries(b, "and the Job makes another")
	case p == nil && a.durationSince(j.Created) < podDeadlineGrace:
		return a.Conclude(diagnosis.Waiting, PodStarting, "", "the Job is about to make a pod")
	case p == nil:
		a.noteBlocksOthers()
		return a.concludeStuck(
			diagnosis.ProveRefused,
			NoPod,
			"Check the Job's events: oc describe job "+j.Name+" -n "+Namespace,
			"the Job has made no pod in %s",
			a.formatAgo(j.Created),
		)
	case p.Started.IsZero() || p.UnschedulableReason != "":
		return a.judgeUnscheduled(b, p)
	case a.durationSince(p.Started) > j.Deadline+podDeadlineGrace:
		a.AddSupport(
			diagnosis.SourcePod,
			p.Started,
			"node %s took pod %s %s ago; it may run for %s",
			p.Node,
			p.Name,
			a.formatAgo(p.Started),
			human.Duration(j.Deadline),
		)
		a.noteBlocksOthers()
		return a.concludeStuck(
			diagnosis.ProveOwnerGone,
			PodPastDeadline,
			"Check node "+p.Node+": its kubelet has to end the pod",
			"the pod has run for %s, and node %s does not end it",
			a.formatAgo(p.Started),
			p.Node,
		)
	case p.WaitingReason != "":
		a.AddSupport(diagnosis.SourcePod, p.Started, "container %s of pod %s waits: %s", p.Container, p.Name, p.WaitingReason)
		return a.Conclude(
			diagnosis.Waiting,
			PodNotStarting,
			"If it does not start, the pod is ended after "+human.Duration(j.Deadline)+", and the Job makes another",
			"container %s cannot start: %s",
			p.Container,
			p.WaitingReason,
		)
	case p.Phase != corev1.PodRunning && p.Container == "":
		return a.Conclude(diagnosis.Waiting, PodStarting, "", "the pod is about to start on node %s", p.Node)
	case j.FailedPods > 0:
		return a.judgeRetries(b, "and another runs since "+a.formatAgo(p.Started))
	}
	a.AddSupport(diagnosis.SourcePod, p.Started, "container %s of pod %s runs on node %s", p.Container, p.Name, p.Node)
	a.AddDoubt(diagnosis.SourceWatch, time.Time{}, "nothing says how far it is: the objects have no progress and no size")
	return a.Conclude(
		diagnosis.Waiting,
		BackupRunning,
		"",
		"%s for %s of at most %s on node %s",
		podActivity(p),
		a.formatAgo(p.Started),
		human.Duration(j.Deadline),
		p.Node,
	)
}

// podActivity says what a pod is doing, by its container (bindata/etcd/cluster-backup-job.yaml).
func podActivity(p *Pod) string {
	if p.Container == "verify-storage" {
		return "checks that the volume has room,"
	}
	return "writes the backup,"
}

func (a *judgment) judgeRetries(b *Backup, then string) diagnosis.Verdict {
	why := ""
	if p := b.Job.failedPod(); p != nil {
		a.notePodFacts(p)
		why = messageSuffix(p.FailureCause())
	}
	a.noteUnchecked(ResourcePods)
	return a.Conclude(
		diagnosis.Waiting,
		JobRetries,
		"",
		"%s of at most %d failed%s; %s",
		human.Count(b.Job.FailedPods, "pod"),
		b.Job.MaxPods,
		why,
		then,
	)
}

// judgeUnscheduled judges a pod without a node. Its deadline has not begun: nothing ends it.
func (a *judgment) judgeUnscheduled(b *Backup, p *Pod) diagnosis.Verdict {
	if p.UnschedulableReason == "" || a.durationSince(p.Created) < podSchedulingGrace {
		return a.Conclude(
			diagnosis.Waiting,
			PodStarting,
			"",
			"the pod waits for a node%s",
			messageSuffix(p.UnschedulableReason),
		)
	}
	a.AddSupport(
		diagnosis.SourcePod,
		p.Created,
		"no node has taken pod %s for %s: %s",
		p.Name,
		a.formatAgo(p.Created),
		p.UnschedulableReason,
	)
	a.AddSupport(
		diagnosis.SourcePod,
		time.Time{},
		"the pod's deadline of %s begins only when a node takes it, so that nothing ends it",
		human.Duration(b.Job.Deadline),
	)
	a.noteBlocksOthers()
	a.noteClaim(b.Claim)
	claim := a.cluster.FindClaim(b.Claim)
	switch {
	case a.cluster.wasRead(ResourceClaims) && claim == nil:
		return a.concludeStuck(
			diagnosis.ProveRefused,
			ClaimMissing,
			"Make the PersistentVolumeClaim "+b.Claim+" in namespace "+Namespace,
			"the pod waits for PersistentVolumeClaim %s, which does not exist",
			b.Claim,
		)
	case claim != nil && claim.Status.Phase != corev1.ClaimBound:
		return a.concludeStuck(
			diagnosis.ProveRefused,
			ClaimUnbound,
			"Check the claim's events: oc describe pvc "+claim.Name+" -n "+Namespace,
			"the pod waits for PersistentVolumeClaim %s, which is %s: %s",
			claim.Name,
			claim.Status.Phase,
			p.UnschedulableReason,
		)
	}
	return a.concludeStuck(
		diagnosis.ProveRefused,
		PodUnschedulable,
		"The pod has to run on a control plane node (node-role.kubernetes.io/master)",
		"no node takes the pod: %s",
		p.UnschedulableReason,
	)
}

// noteBlocksOthers adds that no other backup can start: while a Job runs, the operator handles nothing else
// (backupcontroller.go, sync).
func (a *judgment) noteBlocksOthers() {
	a.AddSupport(diagnosis.SourceWatch, time.Time{}, "no other etcd backup can start before this one ends")
}

// judgeNotBegun judges a backup about which the operator has written nothing.
func (a *judgment) judgeNotBegun(b *Backup) diagnosis.Verdict {
	age := a.durationSince(b.Created)
	a.AddSupport(
		diagnosis.SourceWatch,
		b.Created,
		"made %s ago, and the operator has written nothing since",
		human.Duration(age),
	)
	switch {
	case b.IsProcessed:
		return a.judgeStatusLost(b)
	case b.Job != nil && b.Job.Result == "":
		a.AddSupport(
			diagnosis.SourceWatch,
			b.Job.Created,
			"Job %s is for it, though its status does not name one",
			b.Job.Name,
		)
		return a.judgeRunning(b)
	case !a.cluster.wasRead(ResourceJobs) && age >= maxOperatorSilence:
		a.noteUnchecked(ResourceJobs)
		return a.Conclude(
			diagnosis.Unknown,
			JobsHidden,
			"",
			"has waited for %s; whether another backup runs cannot be seen",
			human.Duration(age),
		)
	}
	if other := a.cluster.findRunningJob(b); other != nil {
		return a.judgeBehind(b, other)
	}
	switch {
	case b.Claim == "":
		// The operator runs into the same error every minute (backupcontroller.go, validateBackup).
		a.AddSupport(
			diagnosis.SourceWatch,
			time.Time{},
			"spec.pvcName is empty; backups that come after this one by name cannot start either",
		)
		return a.concludeStuck(
			diagnosis.ProveRefused,
			NoClaimNamed,
			"Delete this one, and make an EtcdBackup with spec.pvcName",
			"the EtcdBackup names no PersistentVolumeClaim, and the operator cannot start it",
		)
	case age < maxOperatorSilence:
		return a.Conclude(diagnosis.Waiting, WaitingForOperator, "", "the operator starts within a minute")
	}
	a.AddSupport(diagnosis.SourceWatch, time.Time{}, "no etcd backup runs, so that this one could start")
	return a.concludeStuck(
		diagnosis.ProveOwnerGone,
		OperatorSilent,
		operatorAdvice,
		"the operator has done nothing for %s",
		human.Duration(age),
	)
}

func (a *judgment) judgeBehind(b *Backup, other *Job) diagnosis.Verdict {
	a.AddSupport(
		diagnosis.SourceWatch,
		other.Created,
		"Job %s runs for etcd backup %s; only one runs at a time",
		other.Name,
		other.BackupName,
	)
	first := a.cluster.findFirstWaiting()
	if first != b.Name {
		a.AddSupport(
			diagnosis.SourceWatch,
			time.Time{},
			"%s comes before it by name: the operator starts that one, and skips this one",
			first,
		)
	}
	if runner, found := a.cluster.FindBackup(other.BackupName); found {
		if v := a.cluster.JudgeBackup(runner, a.Now).Verdict; v.State() == diagnosis.Stuck {
			return a.concludeStuck(
				diagnosis.ProveOwnerGone,
				BehindStuckBackup,
				v.Advice,
				"waits for another etcd backup that is stuck; %s",
				v.Summary(),
			)
		}
	}
	if first != b.Name {
		return a.Conclude(
			diagnosis.Waiting,
			WaitingForOtherBackup,
			"Make it again once the other has ended",
			"waits for %s; then the operator starts %s and skips this one",
			other.BackupName,
			first,
		)
	}
	return a.Conclude(
		diagnosis.Waiting,
		WaitingForOtherBackup,
		"",
		"waits for %s: one etcd backup runs at a time",
		other.BackupName,
	)
}

// findRunningJob returns a Job that keeps the operator from starting a backup (backupcontroller.go, findRunningJobs).
func (c *Cluster) findRunningJob(b *Backup) *Job {
	for _, j := range c.jobs {
		if j.WritesBackup && j.Result == "" && !j.IsProcessed && j.BackupName != b.Name {
			return j
		}
	}
	return nil
}

// findFirstWaiting returns the name of the backup that the operator starts next.
func (c *Cluster) findFirstWaiting() string {
	first := ""
	for i := range c.Backups {
		if b := &c.Backups[i]; !b.IsProcessed && b.Job == nil && (first == "" || b.Name < first) {
			first = b.Name
		}
	}
	return first
}
