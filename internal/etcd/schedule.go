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

// runPatience is how long a run of a CronJob may take, which makes an EtcdBackup, and how late it may begin.
const runPatience = 10 * time.Minute

type JudgedSchedule struct {
	*Schedule
	Verdict diagnosis.Verdict
	Trouble bool
	// LastRun and Next are the CronJob's runs, zero if unknown.
	LastRun, Next time.Time
	// Last is its newest backup that ended, Good the newest that completed, or nil.
	Last, Good *JudgedBackup
	Running    *JudgedBackup
}

func (c *Cluster) JudgeSchedule(s *Schedule, now time.Time) JudgedSchedule {
	j := JudgedSchedule{Schedule: s}
	for i := range c.Backups {
		b := &c.Backups[i]
		if b.Schedule != s.Name {
			continue
		}
		judged := c.Judge(b, now)
		switch {
		case !b.Ended() && j.Running == nil:
			j.Running = &judged
		case b.Ended() && j.Last == nil:
			j.Last = &judged
		}
		if judged.Verdict.Reason == BackupCompleted && j.Good == nil {
			j.Good = &judged
		}
	}
	if s.CronJob != nil {
		j.LastRun, j.Next = job.TimeOf(s.CronJob.Status.LastScheduleTime), next(s.Cron, s.TimeZone, now)
	}
	j.Verdict = c.assess(s.Resource, now).schedule(&j)
	j.Trouble = troubled(j.Verdict)
	return j
}

// next is a schedule's first moment after t, zero for none (Kubernetes, pkg/controller/cronjob/utils.go,
// nextScheduleTime). The time zone is UTC by default, as OpenShift's kube-controller-manager.
func next(schedule, zone string, t time.Time) (at time.Time) {
	defer func() {
		if recover() != nil { // as callers of cron parsers have to expect
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

func (a *assessment) schedule(j *JudgedSchedule) diagnosis.Verdict {
	s := j.Schedule
	if !a.cluster.StaleSince.IsZero() {
		return a.stale("as it was when the API server last answered")
	}
	switch {
	case s.Cron == "":
		// The operator cannot make a CronJob without a schedule (periodicbackupcontroller.go, reconcileCronJob).
		a.Supports(diagnosis.SourceWatch, s.Created, "spec.etcd.schedule is empty")
		return a.stuck(
			diagnosis.ByRefusal,
			NoCronSchedule,
			"Set spec.etcd.schedule",
			"has no cron schedule, and never runs",
		)
	case s.CronJob == nil && !a.cluster.sees(CronJobs):
		a.noteUnseen(CronJobs)
		if v, bad := a.lastFailed(j); bad {
			return v
		}
		return a.Conclude(
			diagnosis.Unknown,
			CronJobsHidden,
			"",
			"the CronJob cannot be seen, nor the time of the next run",
		)
	case s.CronJob == nil && a.since(s.Created) < operatorPatience:
		return a.Conclude(diagnosis.Waiting, WaitingForOperator, "", "the operator makes the CronJob within a minute")
	case s.CronJob == nil:
		a.Supports(diagnosis.SourceWatch, s.Created, "there is no CronJob %s in namespace %s", s.Name, Namespace)
		return a.stuck(
			diagnosis.ByOwner,
			CronJobMissing,
			"The condition PeriodicBackupControllerDegraded of the etcd operator may say why. "+adviseOperator,
			"the operator has not made the CronJob: there are no runs",
		)
	}
	if s.Claim == "" {
		a.Doubts(diagnosis.SourceWatch, time.Time{}, "spec.etcd.pvcName is empty: runs cannot make an EtcdBackup")
	} else {
		a.noteClaim(s.Claim)
	}
	if v, hangs := a.hangs(s); hangs {
		return v
	}
	if v, missed := a.missed(j); missed {
		return v
	}
	if j.Running != nil {
		a.Supports(diagnosis.SourceWatch, j.Running.Created, "%s", j.Running.Verdict.Summary())
		if j.Running.Trouble {
			v := j.Running.Verdict
			v.Subject, v.Text, v.Facts = a.Name, v.Summary(), a.Facts()
			return v
		}
		return a.Conclude(diagnosis.Waiting, ScheduleRunning, "", "%s", j.Running.Verdict.Summary())
	}
	if v, bad := a.lastFailed(j); bad {
		return v
	}
	if j.Last != nil {
		a.Supports(diagnosis.SourceWatch, j.Last.Condition.LastTransitionTime.Time, "%s", j.Last.Verdict.Summary())
	}
	return a.Conclude(
		diagnosis.Waiting,
		WaitingForNextRun,
		"",
		"next run %s",
		cmp.Or(human.In(j.Next, a.Now), "not known"),
	)
}

func (a *assessment) noteClaim(name string) {
	claim := a.cluster.ClaimOf(name)
	switch {
	case claim == nil && a.cluster.sees(Claims):
		a.Supports(
			diagnosis.SourceWatch,
			time.Time{},
			"there is no PersistentVolumeClaim %s in namespace %s",
			name,
			Namespace,
		)
	case claim == nil:
		a.noteUnseen(Claims)
	case claim.Status.Phase != corev1.ClaimBound:
		a.Supports(
			diagnosis.SourceWatch,
			claim.CreationTimestamp.Time,
			"PersistentVolumeClaim %s is %s",
			claim.Name,
			claim.Status.Phase,
		)
	}
}

// hangs: nothing ends a run, and the CronJob starts none beside it (bindata/etcd/cluster-backup-cronjob.yaml).
func (a *assessment) hangs(s *Schedule) (diagnosis.Verdict, bool) {
	for _, active := range s.CronJob.Status.Active {
		for _, j := range a.cluster.jobs {
			if j.Name != active.Name || j.Runs || a.since(j.Created) < runPatience {
				continue
			}
			why := ""
			if p := j.live(); p != nil {
				why = cmp.Or(p.Unschedulable, p.Waiting)
			}
			a.Supports(
				diagnosis.SourceWatch,
				j.Created,
				"Job %s runs since %s; the CronJob starts no other beside it",
				j.Name,
				a.ago(j.Created),
			)
			if why != "" {
				a.Supports(diagnosis.SourcePod, time.Time{}, "the pod waits: %s", why)
			}
			a.noteUnseen(Pods)
			advice := "Look at the Job: oc describe job " + j.Name + " -n " + Namespace
			if a.cluster.sees(Claims) && a.cluster.ClaimOf(s.Claim) == nil {
				advice = fmt.Sprintf("Make the PersistentVolumeClaim %s in namespace %s", s.Claim, Namespace)
			}
			return a.stuck(
				diagnosis.ByOwner,
				RunHangs,
				advice,
				"the last run has not ended for %s, and no other begins%s",
				a.ago(j.Created),
				said(why),
			), true
		}
	}
	return diagnosis.Verdict{}, false
}

func (a *assessment) missed(j *JudgedSchedule) (diagnosis.Verdict, bool) {
	s := j.Schedule
	from := job.Latest(s.CronJob.CreationTimestamp.Time, j.LastRun)
	due := next(s.Cron, s.TimeZone, from)
	if due.IsZero() || a.since(due) < runPatience || len(s.CronJob.Status.Active) > 0 {
		return diagnosis.Verdict{}, false
	}
	if s.TimeZone == "" && a.since(due) < 24*time.Hour { // the unknown zone changes the hour only
		a.Doubts(diagnosis.SourceWatch, due, "a run was due %s ago, if the cluster's time zone is UTC", a.ago(due))
		return diagnosis.Verdict{}, false
	}
	suspended := ""
	if s.CronJob.Spec.Suspend != nil && *s.CronJob.Spec.Suspend {
		suspended = "; the CronJob is suspended"
	}
	a.Supports(
		diagnosis.SourceWatch,
		due,
		"a run was due %s ago, and the CronJob started none%s",
		a.ago(due),
		suspended,
	)
	return a.stuck(
		diagnosis.ByOwner,
		RunMissed,
		"Check the CronJob: oc describe cronjob "+s.Name+" -n "+Namespace,
		"a run was due %s ago, and none began%s",
		a.ago(due),
		suspended,
	), true
}

// lastFailed looks at the newest backup that ended: the CronJob's Job only made it.
func (a *assessment) lastFailed(j *JudgedSchedule) (diagnosis.Verdict, bool) {
	if j.Last == nil || !j.Last.Trouble {
		return diagnosis.Verdict{}, false
	}
	a.Supports(diagnosis.SourceWatch, j.Last.Condition.LastTransitionTime.Time, "%s", j.Last.Verdict.Summary())
	good := "none that completed is known"
	if j.Good != nil {
		good = fmt.Sprintf(
			"the last that completed is %s, %s ago",
			j.Good.Name,
			a.ago(j.Good.Condition.LastTransitionTime.Time),
		)
	}
	a.Supports(diagnosis.SourceWatch, time.Time{}, "%s", good)
	return a.Conclude(
		diagnosis.Waiting,
		LastBackupFailed,
		j.Last.Verdict.Advice,
		"the last backup %s; %s",
		j.Last.Verdict.Summary(),
		good,
	), true
}
