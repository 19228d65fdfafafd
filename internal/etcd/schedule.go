package etcd

import (
	"cmp"
	"fmt"
	"time"

	cron "github.com/netresearch/go-cron"
	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
)

// maxRunDelay is how long a CronJob's run, which makes an EtcdBackup, may take, and how late it may begin.
const maxRunDelay = 10 * time.Minute

type JudgedSchedule struct {
	*Schedule
	Verdict    diagnosis.Verdict
	IsTroubled bool
	// LastRun and NextRun are the CronJob's runs, zero if unknown.
	LastRun, NextRun time.Time
	// LastEnded is the schedule's newest backup that ended, LastCompleted the newest that completed, or nil.
	LastEnded, LastCompleted *JudgedBackup
	Running                  *JudgedBackup
}

func (c *Cluster) JudgeSchedule(s *Schedule, now time.Time) JudgedSchedule {
	j := JudgedSchedule{Schedule: s}
	for i := range c.Backups {
		b := &c.Backups[i]
		if b.Schedule != s.Name {
			continue
		}
		judged := c.JudgeBackup(b, now)
		switch {
		case !b.HasEnded() && j.Running == nil:
			j.Running = &judged
		case b.HasEnded() && j.LastEnded == nil:
			j.LastEnded = &judged
		}
		if judged.Verdict.Reason == BackupCompleted && j.LastCompleted == nil {
			j.LastCompleted = &judged
		}
	}
	if s.CronJob != nil {
		j.LastRun, j.NextRun = job.TimeOrZero(s.CronJob.Status.LastScheduleTime), nextRun(s.CronSchedule, s.TimeZone, now)
	}
	j.Verdict = c.newJudgment(s.Resource, now).judgeSchedule(&j)
	j.IsTroubled = isTroubled(j.Verdict)
	return j
}

// nextRun returns a schedule's first run after t, zero for none (Kubernetes, pkg/controller/cronjob/utils.go,
// nextScheduleTime). The time zone is UTC by default, as in OpenShift's kube-controller-manager.
func nextRun(schedule, zone string, t time.Time) (at time.Time) {
	defer func() {
		if recover() != nil { // callers of cron parsers must expect this
			at = time.Time{}
		}
	}()
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return time.Time{}
	}
	where, err := time.LoadLocation(cmp.Or(zone, "UTC"))
	if err != nil {
		return time.Time{}
	}
	return parsed.Next(t.In(where))
}

func (a *judgment) judgeSchedule(j *JudgedSchedule) diagnosis.Verdict {
	s := j.Schedule
	if !a.cluster.StaleSince.IsZero() {
		return a.concludeStale("as it was when the API server last answered")
	}
	switch {
	case s.CronSchedule == "":
		// The operator cannot make a CronJob without a schedule (periodicbackupcontroller.go, reconcileCronJob).
		a.AddSupport(diagnosis.SourceWatch, s.Created, "spec.etcd.schedule is empty")
		return a.concludeStuck(
			diagnosis.ProveRefused,
			NoCronSchedule,
			"Set spec.etcd.schedule",
			"has no cron schedule, and never runs",
		)
	case s.CronJob == nil && !a.cluster.wasRead(ResourceCronJobs):
		a.noteUnchecked(ResourceCronJobs)
		if v, bad := a.checkLastBackup(j); bad {
			return v
		}
		return a.Conclude(
			diagnosis.Unknown,
			CronJobsHidden,
			"",
			"the CronJob cannot be seen, nor the time of the next run",
		)
	case s.CronJob == nil && a.durationSince(s.Created) < maxOperatorSilence:
		return a.Conclude(diagnosis.Waiting, WaitingForOperator, "", "the operator makes the CronJob within a minute")
	case s.CronJob == nil:
		a.AddSupport(diagnosis.SourceWatch, s.Created, "there is no CronJob %s in namespace %s", s.Name, Namespace)
		return a.concludeStuck(
			diagnosis.ProveOwnerGone,
			CronJobMissing,
			"The condition PeriodicBackupControllerDegraded of the etcd operator may say why. "+operatorAdvice,
			"the operator has not made the CronJob: there are no runs",
		)
	}
	if s.Claim == "" {
		a.AddDoubt(diagnosis.SourceWatch, time.Time{}, "spec.etcd.pvcName is empty: runs cannot make an EtcdBackup")
	} else {
		a.noteClaim(s.Claim)
	}
	if v, hangs := a.checkHangingRun(s); hangs {
		return v
	}
	if v, missed := a.checkMissedRun(j); missed {
		return v
	}
	if j.Running != nil {
		a.AddSupport(diagnosis.SourceWatch, j.Running.Created, "%s", j.Running.Verdict.Summary())
		if j.Running.IsTroubled {
			v := j.Running.Verdict
			v.Subject, v.Text, v.Facts = a.Subject, v.Summary(), a.Facts()
			return v
		}
		return a.Conclude(diagnosis.Waiting, ScheduleRunning, "", "%s", j.Running.Verdict.Summary())
	}
	if v, bad := a.checkLastBackup(j); bad {
		return v
	}
	if j.LastEnded != nil {
		a.AddSupport(
			diagnosis.SourceWatch,
			j.LastEnded.Condition.LastTransitionTime.Time,
			"%s",
			j.LastEnded.Verdict.Summary(),
		)
	}
	return a.Conclude(
		diagnosis.Waiting,
		WaitingForNextRun,
		"",
		"next run %s",
		cmp.Or(human.Until(j.NextRun, a.Now), "not known"),
	)
}

func (a *judgment) noteClaim(name string) {
	claim := a.cluster.FindClaim(name)
	switch {
	case claim == nil && a.cluster.wasRead(ResourceClaims):
		a.AddSupport(
			diagnosis.SourceWatch,
			time.Time{},
			"there is no PersistentVolumeClaim %s in namespace %s",
			name,
			Namespace,
		)
	case claim == nil:
		a.noteUnchecked(ResourceClaims)
	case claim.Status.Phase != corev1.ClaimBound:
		a.AddSupport(
			diagnosis.SourceWatch,
			claim.CreationTimestamp.Time,
			"PersistentVolumeClaim %s is %s",
			claim.Name,
			claim.Status.Phase,
		)
	}
}

// checkHangingRun reports a run that does not end: nothing ends it, and the CronJob starts no other beside it
// (bindata/etcd/cluster-backup-cronjob.yaml).
func (a *judgment) checkHangingRun(s *Schedule) (diagnosis.Verdict, bool) {
	for _, active := range s.CronJob.Status.Active {
		for _, j := range a.cluster.jobs {
			if j.Name != active.Name || j.WritesBackup || a.durationSince(j.Created) < maxRunDelay {
				continue
			}
			why := ""
			if p := j.activePod(); p != nil {
				why = cmp.Or(p.UnschedulableReason, p.WaitingReason)
			}
			a.AddSupport(
				diagnosis.SourceWatch,
				j.Created,
				"Job %s runs since %s; the CronJob starts no other beside it",
				j.Name,
				a.formatAgo(j.Created),
			)
			if why != "" {
				a.AddSupport(diagnosis.SourcePod, time.Time{}, "the pod waits: %s", why)
			}
			a.noteUnchecked(ResourcePods)
			advice := "Look at the Job: oc describe job " + j.Name + " -n " + Namespace
			if a.cluster.wasRead(ResourceClaims) && a.cluster.FindClaim(s.Claim) == nil {
				advice = fmt.Sprintf("Make the PersistentVolumeClaim %s in namespace %s", s.Claim, Namespace)
			}
			return a.concludeStuck(
				diagnosis.ProveOwnerGone,
				RunHangs,
				advice,
				"the last run has not ended for %s, and no other begins%s",
				a.formatAgo(j.Created),
				messageSuffix(why),
			), true
		}
	}
	return diagnosis.Verdict{}, false
}

func (a *judgment) checkMissedRun(j *JudgedSchedule) (diagnosis.Verdict, bool) {
	s := j.Schedule
	from := job.LatestTime(s.CronJob.CreationTimestamp.Time, j.LastRun)
	due := nextRun(s.CronSchedule, s.TimeZone, from)
	if due.IsZero() || a.durationSince(due) < maxRunDelay || len(s.CronJob.Status.Active) > 0 {
		return diagnosis.Verdict{}, false
	}
	// The unknown zone changes only the hour.
	if s.TimeZone == "" && a.durationSince(due) < 24*time.Hour {
		a.AddDoubt(diagnosis.SourceWatch, due, "a run was due %s ago, if the cluster's time zone is UTC", a.formatAgo(due))
		return diagnosis.Verdict{}, false
	}
	suspended := ""
	if s.CronJob.Spec.Suspend != nil && *s.CronJob.Spec.Suspend {
		suspended = "; the CronJob is suspended"
	}
	a.AddSupport(
		diagnosis.SourceWatch,
		due,
		"a run was due %s ago, and the CronJob started none%s",
		a.formatAgo(due),
		suspended,
	)
	return a.concludeStuck(
		diagnosis.ProveOwnerGone,
		RunMissed,
		"Check the CronJob: oc describe cronjob "+s.Name+" -n "+Namespace,
		"a run was due %s ago, and none began%s",
		a.formatAgo(due),
		suspended,
	), true
}

// checkLastBackup checks the newest backup that ended: the CronJob's Job only made it.
func (a *judgment) checkLastBackup(j *JudgedSchedule) (diagnosis.Verdict, bool) {
	if j.LastEnded == nil || !j.LastEnded.IsTroubled {
		return diagnosis.Verdict{}, false
	}
	a.AddSupport(diagnosis.SourceWatch, j.LastEnded.Condition.LastTransitionTime.Time, "%s", j.LastEnded.Verdict.Summary())
	good := "none that completed is known"
	if j.LastCompleted != nil {
		good = fmt.Sprintf(
			"the last that completed is %s, %s ago",
			j.LastCompleted.Name,
			a.formatAgo(j.LastCompleted.Condition.LastTransitionTime.Time),
		)
	}
	a.AddSupport(diagnosis.SourceWatch, time.Time{}, "%s", good)
	return a.Conclude(
		diagnosis.Waiting,
		LastBackupFailed,
		j.LastEnded.Verdict.Advice,
		"the last backup %s; %s",
		j.LastEnded.Verdict.Summary(),
		good,
	), true
}
