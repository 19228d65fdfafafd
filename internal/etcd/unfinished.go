package etcd

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

func (a *assessment) pending(b *Backup) diagnosis.Verdict {
	if b.Processed {
		return a.statusLost(b)
	}
	if !a.cluster.sees(Jobs) {
		a.noteUnseen(Jobs)
		return a.Conclude(diagnosis.Unknown, JobsHidden, "", "the Job cannot be seen, nor whether it runs")
	}
	switch j := b.Job; {
	case j == nil:
		// The operator finds no Job and makes another (backupcontroller.go, sync).
		a.Supports(diagnosis.SourceWatch, time.Time{}, "there is no Job %s in namespace %s", b.JobName, Namespace)
		return a.Conclude(
			diagnosis.Waiting,
			JobGone,
			"If this lasts for more than three minutes: "+adviseOperator,
			"the Job is gone; the operator makes another within a minute",
		)
	case j.Result == "":
		return a.running(b)
	case a.since(j.Ended) < operatorPatience:
		a.noteJob(j)
		return a.Conclude(
			diagnosis.Waiting,
			ResultPending,
			"",
			"the Job is %s, and the operator is about to say so",
			j.Result,
		)
	default:
		a.noteJob(j)
		return a.stuck(
			diagnosis.ByOwner,
			OperatorSilent,
			adviseOperator,
			"the Job ended %s ago (%s), and the operator has not said so",
			a.ago(j.Ended),
			j.Result,
		)
	}
}

// statusLost: the operator is done, without a result. The label comes before the status; with it the
// operator never looks again, and deletes the Job (backupcontroller.go, reconcileJobStatus, sync).
func (a *assessment) statusLost(b *Backup) diagnosis.Verdict {
	a.Supports(
		diagnosis.SourceWatch,
		time.Time{},
		"label %s=%s: the operator never looks at it again",
		stateLabel,
		processed,
	)
	if b.Job != nil && b.Job.Result != "" {
		a.noteJob(b.Job)
		return a.stuck(
			diagnosis.ByOwner,
			StatusLost,
			"The Job tells how the backup ended. "+adviseAnother,
			"the Job is %s, but the operator did not record that and will not retry",
			b.Job.Result,
		)
	}
	a.noteUnseen(Jobs)
	return a.stuck(
		diagnosis.ByOwner,
		StatusLost,
		adviseAnother,
		"the operator has finished without recording the result, and will not retry",
	)
}

func (a *assessment) running(b *Backup) diagnosis.Verdict {
	j := b.Job
	a.noteJob(j)
	p := j.live()
	switch {
	case p == nil && !a.cluster.sees(Pods):
		a.noteUnseen(Pods)
		if a.since(j.Started) < j.Deadline {
			return a.Conclude(
				diagnosis.Waiting,
				BackupRunning,
				"",
				"the Job has run for %s; each of its pods may run for %s",
				a.ago(j.Started),
				human.Duration(j.Deadline),
			)
		}
		return a.Conclude(
			diagnosis.Unknown,
			diagnosis.PodsHidden,
			"",
			"the Job has run for %s, and the pods cannot be seen",
			a.ago(j.Started),
		)
	case p == nil && j.Failed > 0:
		return a.retries(b, "and the Job makes another")
	case p == nil && a.since(j.Created) < endPatience:
		return a.Conclude(diagnosis.Waiting, PodStarting, "", "the Job is about to make a pod")
	case p == nil:
		a.blocksOthers()
		return a.stuck(
			diagnosis.ByRefusal,
			NoPod,
			"Check the Job's events: oc describe job "+j.Name+" -n "+Namespace,
			"the Job has made no pod in %s",
			a.ago(j.Created),
		)
	case p.Started.IsZero() || p.Unschedulable != "":
		return a.unscheduled(b, p)
	case a.since(p.Started) > j.Deadline+endPatience:
		a.Supports(
			diagnosis.SourcePod,
			p.Started,
			"node %s took pod %s %s ago; it may run for %s",
			p.Node,
			p.Name,
			a.ago(p.Started),
			human.Duration(j.Deadline),
		)
		a.blocksOthers()
		return a.stuck(
			diagnosis.ByOwner,
			PodPastDeadline,
			"Check node "+p.Node+": its kubelet has to end the pod",
			"the pod has run for %s, and node %s does not end it",
			a.ago(p.Started),
			p.Node,
		)
	case p.Waiting != "":
		a.Supports(diagnosis.SourcePod, p.Started, "container %s of pod %s waits: %s", p.Container, p.Name, p.Waiting)
		return a.Conclude(
			diagnosis.Waiting,
			PodNotStarting,
			"If it does not start, the pod is ended after "+human.Duration(j.Deadline)+", and the Job makes another",
			"container %s cannot start: %s",
			p.Container,
			p.Waiting,
		)
	case p.Phase != corev1.PodRunning && p.Container == "":
		return a.Conclude(diagnosis.Waiting, PodStarting, "", "the pod is about to start on node %s", p.Node)
	case j.Failed > 0:
		return a.retries(b, "and another runs since "+a.ago(p.Started))
	}
	a.Supports(diagnosis.SourcePod, p.Started, "container %s of pod %s runs on node %s", p.Container, p.Name, p.Node)
	a.Doubts(diagnosis.SourceWatch, time.Time{}, "nothing says how far it is: the objects have no progress and no size")
	return a.Conclude(
		diagnosis.Waiting,
		BackupRunning,
		"",
		"%s for %s of at most %s on node %s",
		doing(p),
		a.ago(p.Started),
		human.Duration(j.Deadline),
		p.Node,
	)
}

// doing is what a pod does, by its container (bindata/etcd/cluster-backup-job.yaml).
func doing(p *Pod) string {
	if p.Container == "verify-storage" {
		return "checks that the volume has room,"
	}
	return "writes the backup,"
}

func (a *assessment) retries(b *Backup, then string) diagnosis.Verdict {
	why := ""
	if p := b.Job.failed(); p != nil {
		a.notePod(p)
		why = said(p.Cause())
	}
	a.noteUnseen(Pods)
	return a.Conclude(
		diagnosis.Waiting,
		JobRetries,
		"",
		"%s of at most %d failed%s; %s",
		human.Count(b.Job.Failed, "pod"),
		b.Job.Most,
		why,
		then,
	)
}

// unscheduled judges a pod without a node. Its deadline has not begun: nothing ends it.
func (a *assessment) unscheduled(b *Backup, p *Pod) diagnosis.Verdict {
	if p.Unschedulable == "" || a.since(p.Created) < schedulePatience {
		return a.Conclude(diagnosis.Waiting, PodStarting, "", "the pod waits for a node%s", said(p.Unschedulable))
	}
	a.Supports(
		diagnosis.SourcePod,
		p.Created,
		"no node has taken pod %s for %s: %s",
		p.Name,
		a.ago(p.Created),
		p.Unschedulable,
	)
	a.Supports(
		diagnosis.SourcePod,
		time.Time{},
		"the pod's deadline of %s begins only when a node takes it, so that nothing ends it",
		human.Duration(b.Job.Deadline),
	)
	a.blocksOthers()
	a.noteClaim(b.Claim)
	claim := a.cluster.ClaimOf(b.Claim)
	switch {
	case a.cluster.sees(Claims) && claim == nil:
		return a.stuck(
			diagnosis.ByRefusal,
			ClaimMissing,
			"Make the PersistentVolumeClaim "+b.Claim+" in namespace "+Namespace,
			"the pod waits for PersistentVolumeClaim %s, which does not exist",
			b.Claim,
		)
	case claim != nil && claim.Status.Phase != corev1.ClaimBound:
		return a.stuck(
			diagnosis.ByRefusal,
			ClaimUnbound,
			"Check the claim's events: oc describe pvc "+claim.Name+" -n "+Namespace,
			"the pod waits for PersistentVolumeClaim %s, which is %s: %s",
			claim.Name,
			claim.Status.Phase,
			p.Unschedulable,
		)
	}
	return a.stuck(
		diagnosis.ByRefusal,
		PodUnschedulable,
		"The pod has to run on a control plane node (node-role.kubernetes.io/master)",
		"no node takes the pod: %s",
		p.Unschedulable,
	)
}

// blocksOthers: while a Job runs, the operator looks at nothing else (backupcontroller.go, sync).
func (a *assessment) blocksOthers() {
	a.Supports(diagnosis.SourceWatch, time.Time{}, "no other etcd backup can start before this one ends")
}

// notBegun judges a backup that the operator has written nothing about.
func (a *assessment) notBegun(b *Backup) diagnosis.Verdict {
	age := a.since(b.Created)
	a.Supports(
		diagnosis.SourceWatch,
		b.Created,
		"made %s ago, and the operator has written nothing since",
		human.Duration(age),
	)
	switch {
	case b.Processed:
		return a.statusLost(b)
	case b.Job != nil && b.Job.Result == "":
		a.Supports(
			diagnosis.SourceWatch,
			b.Job.Created,
			"Job %s is for it, though its status does not name one",
			b.Job.Name,
		)
		return a.running(b)
	case !a.cluster.sees(Jobs) && age >= operatorPatience:
		a.noteUnseen(Jobs)
		return a.Conclude(
			diagnosis.Unknown,
			JobsHidden,
			"",
			"has waited for %s; whether another backup runs cannot be seen",
			human.Duration(age),
		)
	}
	if other := a.cluster.runningBeside(b); other != nil {
		return a.behind(b, other)
	}
	switch {
	case b.Claim == "":
		// The operator meets the same error every minute (backupcontroller.go, validateBackup).
		a.Supports(
			diagnosis.SourceWatch,
			time.Time{},
			"spec.pvcName is empty; backups that come after this one by name cannot start either",
		)
		return a.stuck(
			diagnosis.ByRefusal,
			NoClaimNamed,
			"Delete this one, and make an EtcdBackup with spec.pvcName",
			"the EtcdBackup names no PersistentVolumeClaim, and the operator cannot start it",
		)
	case age < operatorPatience:
		return a.Conclude(diagnosis.Waiting, WaitingForOperator, "", "the operator starts within a minute")
	}
	a.Supports(diagnosis.SourceWatch, time.Time{}, "no etcd backup runs, so that this one could start")
	return a.stuck(
		diagnosis.ByOwner,
		OperatorSilent,
		adviseOperator,
		"the operator has done nothing for %s",
		human.Duration(age),
	)
}

func (a *assessment) behind(b *Backup, other *Job) diagnosis.Verdict {
	a.Supports(
		diagnosis.SourceWatch,
		other.Created,
		"Job %s runs for etcd backup %s; only one runs at a time",
		other.Name,
		other.Backup,
	)
	first := a.cluster.firstWaiting()
	if first != b.Name {
		a.Supports(
			diagnosis.SourceWatch,
			time.Time{},
			"%s comes before it by name: the operator starts that one, and skips this one",
			first,
		)
	}
	if runner, found := a.cluster.Find(other.Backup); found {
		if v := a.cluster.Judge(runner, a.Now).Verdict; v.State() == diagnosis.Stuck {
			return a.stuck(
				diagnosis.ByOwner,
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
			other.Backup,
			first,
		)
	}
	return a.Conclude(
		diagnosis.Waiting,
		WaitingForOtherBackup,
		"",
		"waits for %s: one etcd backup runs at a time",
		other.Backup,
	)
}

// runningBeside is a Job that keeps the operator from starting a backup (backupcontroller.go, findRunningJobs).
func (c *Cluster) runningBeside(b *Backup) *Job {
	for _, j := range c.jobs {
		if j.Runs && j.Result == "" && !j.Processed && j.Backup != b.Name {
			return j
		}
	}
	return nil
}

// firstWaiting is the name of the backup that the operator starts next.
func (c *Cluster) firstWaiting() string {
	first := ""
	for i := range c.Backups {
		if b := &c.Backups[i]; !b.Processed && b.Job == nil && (first == "" || b.Name < first) {
			first = b.Name
		}
	}
	return first
}
