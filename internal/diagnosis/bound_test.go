package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// course is one run of a wait by Velero's own rule, made without the table: when it ends at the latest by what the
// server, its flags and its restarts do, zero for never.
type course struct {
	job      spec
	env      World
	evidence JobEvidence
	ends     time.Time
}

// durations are values that flags, annotations and fields are given, some that cannot be read.
var durations = []string{
	"",
	"0s",
	"-5m",
	"1s",
	"90s",
	"10m",
	"45m",
	"4h",
	"26h",
	"72h",
	"2000h",
	"2562047h",
	"$(TIMEOUT)",
	"4d",
}

// flagged is what a server makes of a flag: the default where nothing is given, nobody knows what where a variable stands.
func flagged(value string, byDefault time.Duration) (d time.Duration, known bool) {
	if value == "" {
		return byDefault, true
	}
	d, err := time.ParseDuration(value)
	return d, err == nil
}

var boundVersions = []string{"v1.14.1", "v1.15.2", "v1.16.2", "v1.17.2", "v1.18.1", "v1.18.3", "v1.19.0", ""}

// minute is a random moment of the last days before noon.
func minute(r *rand.Rand, longest float64) float64 { return 1 + r.Float64()*longest }

// podVolumeCourse: the context of the pod volumes is made after the start and before the first of them, with the
// annotation, else the flag, as its time-out; it is looked at after the last item (backup.go, backupper.go). From
// 1.18.3 on what follows has no end of its own.
func podVolumeCourse(r *rand.Rand, kind job.Kind) course {
	flag, annotation, version := pick(r, durations), pick(r, durations), pick(r, boundVersions)
	started := minute(r, 6000)
	made := started * r.Float64()
	first := made * r.Float64()
	c := course{
		job: spec{kind: kind, phase: velero.PhaseInProgress, started: started, changed: first, done: 9, total: 9},
		env: with(version17(version)),
	}
	volumeKind := velero.PodVolumeBackup
	annotate := func(o interface{ SetAnnotations(map[string]string) }) {
		if annotation != "" {
			o.SetAnnotations(map[string]string{"velero.io/pod-volume-timeout": annotation})
		}
	}
	if kind == job.Restore {
		volumeKind = velero.PodVolumeRestore
		c.job.restore = func(o *veleroapi.Restore) { annotate(o) }
	} else {
		c.job.backup = func(o *veleroapi.Backup) { annotate(o) }
	}
	c.job.volumes = []job.Volume{volume(volumeKind, "data", velero.VolumeInProgress, 1, 9, first, first)}
	c.env.Server.Flags = parsed("fs-backup-timeout", flag)
	limit, known := flagged(flag, 4*time.Hour)
	if d, err := time.ParseDuration(annotation); err == nil {
		limit, known = d, true
	}
	read := version != "v1.19.0"
	cancels := kind == job.Backup && (version == "v1.18.3" || version == "")
	if known && read && !cancels {
		c.ends = minutesAgo(made).Add(max(0, limit))
	}
	return c
}

// patchCourse: the attempts of client-go's back-off, each five times later, jitter at most a tenth, until the next delay
// would pass the cap; a cap of zero or less is none.
func patchCourse(r *rand.Rand) course {
	flag, version := pick(r, durations), pick(r, boundVersions)
	stored := minute(r, 3000)
	c := course{
		job:      spec{phase: velero.PhaseInProgress, started: stored + 60, changed: stored + 1, done: 9, total: 9},
		env:      with(version17(version)),
		evidence: JobEvidence{StoredAt: minutesAgo(stored)},
	}
	c.env.Server.Flags = parsed("resource-timeout", flag)
	limit, known := flagged(flag, 10*time.Minute)
	if !known || limit <= 0 || version == "v1.19.0" {
		return c
	}
	at := minutesAgo(stored)
	for delay := 10 * time.Millisecond; ; {
		jittered := time.Duration(float64(delay) * (1 + 0.1*r.Float64()))
		at = at.Add(jittered)
		next := delay * 5
		if next > limit || delay > 1<<60 {
			break // no step is left after this one
		}
		delay = next
	}
	c.ends = at
	return c
}

// operationsCourse: only a look ends an operation. Looks come at the server's start and then once in a period, and an
// operation was made before the phase began.
func operationsCourse(r *rand.Rand, kind job.Kind) course {
	spec1, flag, period, version := pick(r, durations), pick(r, durations), pick(r, durations), pick(r, boundVersions)
	phase := minute(r, 6000)
	created := phase + r.Float64()*60
	server := minute(r, 6000)
	c := course{
		job: spec{
			kind:    kind,
			phase:   velero.PhaseWaitingForPluginOperations,
			started: created + 1,
			changed: phase,
			done:    9,
			total:   9,
			ops:     [3]int{1, 0, 0},
		},
		env: with(version17(version)),
	}
	asked, _ := time.ParseDuration(spec1)
	c.job.backup = func(o *veleroapi.Backup) { o.Spec.ItemOperationTimeout.Duration = asked }
	c.job.restore = func(o *veleroapi.Restore) { o.Spec.ItemOperationTimeout.Duration = asked }
	args := []string{"server"}
	for name, value := range map[string]string{"default-item-operation-timeout": flag, "item-operation-sync-frequency": period} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	c.env.Server.Flags, c.env.Server.StartedAt = velero.ParseServerFlags(args), minutesAgo(server)
	limit, known := flagged(flag, 4*time.Hour)
	if asked != 0 {
		limit, known = asked, true
	}
	every, readable := flagged(period, 10*time.Second)
	if every <= 0 {
		every = 10 * time.Second
	}
	if !known || !readable || version == "v1.19.0" || limit > velero.Unlimited || every > velero.Unlimited {
		return c
	}
	over := minutesAgo(created).Add(max(0, limit))
	look := minutesAgo(server)
	if over.After(look) {
		look = look.Add((over.Sub(look)/every + 1) * every) // the first one after the limit
	}
	c.ends = look
	return c
}

// hooksCourse: a finalizer begins anew with each start of its server, and when it is done with the job before. It
// binds three volumes at a time, each for up to the time-out, then waits for hooks, for ten minutes where it is zero.
func hooksCourse(r *rand.Rand) course {
	flag, version := pick(r, durations), pick(r, boundVersions)
	volumes := r.IntN(9)
	phase, server, before := minute(r, 3000), minute(r, 3000), minute(r, 3000)
	c := course{
		job: spec{
			kind:    job.Restore,
			phase:   velero.PhaseFinalizing,
			started: phase + 60,
			changed: phase,
			done:    9,
			total:   9,
		},
		env: with(version17(version)),
	}
	c.env.Server.Flags, c.env.Server.StartedAt, c.env.LastJobEndedAt = parsed(
		"resource-timeout",
		flag,
	), minutesAgo(
		server,
	), minutesAgo(
		before,
	)
	c.env.BackupVolumeCounts = map[string]int{"nightly": volumes}
	limit, known := flagged(flag, 10*time.Minute)
	if !known || (version != "v1.18.3" && version != "") {
		return c
	}
	turn := job.LatestTime(minutesAgo(phase), minutesAgo(server), minutesAgo(before))
	rounds := (volumes + 2) / 3
	if limit > velero.Unlimited/10 {
		return c
	}
	hooks := limit
	if hooks <= 0 {
		hooks = 10 * time.Minute
	}
	c.ends = turn.Add(time.Duration(rounds)*max(0, limit) + hooks)
	return c
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func parsed(flag, value string) velero.ServerFlags {
	if value == "" {
		return velero.ParseServerFlags([]string{"server"})
	}
	return velero.ParseServerFlags([]string{"server", "--" + flag + "=" + value})
}

// tooEarly is how often the bound of a row lies before the end of a course, with the first case.
func tooEarly(t *testing.T, table []velero.PossibleWait, cases int) (early, bounded int, first string) {
	t.Helper()
	r := rand.New(rand.NewPCG(18, 3))
	for n := range cases {
		var c course
		var name velero.WaitName
		switch n % 6 {
		case 0, 1:
			c, name = podVolumeCourse(r, []job.Kind{job.Backup, job.Restore}[n%6]), velero.WaitPodVolumes
		case 2:
			c, name = patchCourse(r), velero.WaitLastPatch
		case 3, 4:
			c, name = operationsCourse(r, []job.Kind{job.Backup, job.Restore}[n%6-3]), velero.WaitOperations
		case 5:
			c, name = hooksCourse(r), velero.WaitRestoreHooks
		}
		c.job.name = "crm-old"
		j := c.job.job(t)
		c.env.Jobs, c.env.WaitTable = []*job.Job{j}, table
		c.env.Evidence = map[types.UID]JobEvidence{j.UID: c.evidence}
		a := newJobJudge(j, &c.env)
		for _, w := range a.likelyWaits() {
			if w.row.Name != name || w.latestAt.IsZero() {
				continue
			}
			bounded++
			if c.ends.IsZero() || w.latestAt.Before(c.ends.Truncate(time.Second)) {
				if early++; first == "" {
					first = fmt.Sprintf(
						"%s of a %s, %q, flags %+v: bound %s, Velero %s",
						name,
						j.Kind,
						c.env.Server.Version,
						c.env.Server.Flags,
						w.latestAt,
						c.ends,
					)
				}
			}
		}
	}
	return early, bounded, first
}

// TestBoundsAreLatest holds the table's bounds against Velero's rule under random flags, annotations, versions and restarts.
func TestBoundsAreLatest(t *testing.T) {
	const cases = 12_000
	early, bounded, first := tooEarly(t, velero.WaitTable(), cases)
	if early > 0 {
		t.Errorf("%d of %d bounds lie before Velero's end, the first one: %s", early, bounded, first)
	}
	if bounded < cases/5 {
		t.Errorf("only %d of %d cases have a bound", bounded, cases)
	}
	t.Logf("%d cases, %d with a bound", cases, bounded)
}

// TestBoundsThatAreEarlyAreFound counts the bounds from elsewhere, drops delays and lets what goes on end.
func TestBoundsThatAreEarlyAreFound(t *testing.T) {
	for what, mutate := range map[string]func(*velero.PossibleWait) bool{
		"pod volumes from the start": func(w *velero.PossibleWait) bool {
			ok := w.LimitStart == velero.FromFirstVolume
			w.LimitStart = velero.FromStart
			return ok && w.Name == velero.WaitPodVolumes
		},
		"looks take no time": func(w *velero.PossibleWait) bool {
			ok := w.Limit.EffectDelay != nil
			w.Limit.EffectDelay = nil
			return ok
		},
		"the cancel is the end": func(w *velero.PossibleWait) bool {
			ok := w.Limit.ContinuesAfter
			w.Limit.ContinuesAfter = false
			return ok
		},
		"the turn is the phase": func(w *velero.PossibleWait) bool {
			ok := w.LimitStart == velero.FromTurn && w.Name == velero.WaitRestoreHooks
			w.LimitStart = velero.FromPhase
			return ok
		},
		"half of the last attempts": func(w *velero.PossibleWait) bool {
			of := w.Limit.Length
			if w.Name != velero.WaitLastPatch || of == nil {
				return false
			}
			half := w.Limit
			half.Length = halved(of)
			w.Limit = half
			return true
		},
	} {
		table, changed := velero.WaitTable(), 0
		for i := range table {
			was := table[i]
			if mutate(&table[i]) {
				changed++
			} else {
				table[i] = was
			}
		}
		early, _, _ := tooEarly(t, table, 3_000)
		if changed == 0 || early == 0 {
			t.Errorf("%s: %d rows changed, and no bound was found to be early", what, changed)
		}
	}
}

func halved(
	of func(metav1.Object, velero.ServerFlags) time.Duration,
) func(metav1.Object, velero.ServerFlags) time.Duration {
	return func(o metav1.Object, f velero.ServerFlags) time.Duration { return of(o, f) / 2 }
}
