package velero

import (
	"strings"
	"testing"
	"time"
)

var logStart = time.Date(2026, 11, 21, 1, 55, 0, 0, time.UTC)

// lost are lines of a Velero 1.18.3 whose API server went away.
const lost = `time="2026-11-21T01:55:52Z" level=info msg="restore status includes excludes: <nil>" groupResource=deployments.apps logSource="pkg/restore/restore.go:1618" namespace=media original name=dep-4 restore=velero/s3-apidown
time="2026-11-21T01:55:53Z" level=warning msg="Got error trying to update restore's status.progress" error="Patch \"https://127.0.0.1:6443/apis/velero.io/v1/namespaces/velero/restores/s3-apidown\": dial tcp 127.0.0.1:6443: connect: connection refused" restore=velero/s3-apidown
time="2026-11-21T01:55:53Z" level=info msg="restore completed" logSource="pkg/controller/restore_controller.go:640" restore=velero/s3-apidown
time="2026-11-21T01:55:55Z" level=info msg="Error updating restore's status from InProgress to FinalizingPartiallyFailed" Restore=velero/s3-apidown error="Patch \"https://127.0.0.1:6443/apis/velero.io/v1/namespaces/velero/restores/s3-apidown\": dial tcp 127.0.0.1:6443: connect: connection refused" error.file="pkg/client/retry.go:36" logSource="pkg/controller/restore_controller.go:292"
`

func TestServerGaveUp(t *testing.T) {
	const later = `time="2026-11-21T01:58:00Z" level=info `
	tests := map[string]struct {
		log, kind, name string
		phase           string
		gaveUp          bool
	}{
		"as recorded":              {lost, "Restore", "s3-apidown", "FinalizingPartiallyFailed", true},
		"lines of others after it": {lost + later + "msg=x restore=velero/s3\n" + later + "msg=x backup=velero/s3-apidown\n", "Restore", "s3-apidown", "FinalizingPartiallyFailed", true},
		"the server worked on it after that": {lost + later + `msg="Attempting to restore Pod: a" restore=velero/s3-apidown` + "\n",
			"Restore", "s3-apidown", "", false},
		"a name that begins as another":  {lost, "Restore", "s3-api", "", false},
		"a name that another begins":     {strings.ReplaceAll(lost, "s3-apidown", "s3"), "Restore", "s3-apidown", "", false},
		"another namespace":              {strings.ReplaceAll(lost, "=velero/", "=dr/"), "Restore", "s3-apidown", "", false},
		"a backup of that name":          {lost, "Backup", "s3-apidown", "", false},
		"before the job began":           {strings.ReplaceAll(lost, "T01:55", "T01:54"), "Restore", "s3-apidown", "", false},
		"cut off in its last line":       {lost[:len(lost)-1], "Restore", "s3-apidown", "", false},
		"a phase that does not exist":    {strings.ReplaceAll(lost, "FinalizingPartiallyFailed", "Paradise"), "Restore", "s3-apidown", "", false},
		"said by another in its message": {later + `msg="quoted: Error updating restore's status from InProgress to Failed Restore=velero/r9" restore=velero/r9` + "\n", "Restore", "r9", "", false},
		"forged behind a quotation mark": {later + `msg="x\" Restore=velero/r9 msg=\"Error updating restore's status from InProgress to Failed" restore=velero/r8` + "\n", "Restore", "r9", "", false},
		"1.14": {later + `msg="Error updating restore's final status" Restore=velero/r9 error="connection refused"` + "\n",
			"Restore", "r9", "", true},
		"the finalizer, which tries again": {later + `msg="error updating restore's final status" restore finalizer=velero/r9 error="refused"` + "\n",
			"Restore", "r9", "", false},
		"a backup": {`time="2026-11-21T01:58:00Z" level=error msg="error updating backup's status from InProgress to WaitingForPluginOperations" backuprequest=velero/b1 error="etcdserver: request timed out"` + "\n",
			"Backup", "b1", "WaitingForPluginOperations", true},
		"JSON": {`{"Restore":"velero/r9","error.message":"refused","level":"info","msg":"Error updating restore's status from InProgress to Finalizing","time":"2026-11-21T01:58:00Z","n":1}` + "\n",
			"Restore", "r9", "Finalizing", true},
		"deleted after it": {lost + later + `msg="Removing backup" backup=velero/s3-apidown restore=velero/s3-apidown controller=backup-deletion` + "\n",
			"Restore", "s3-apidown", "FinalizingPartiallyFailed", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := ReadJobLog(test.log, test.kind, "velero", test.name, logStart)
			if gaveUp := !l.GaveUp.At.IsZero(); gaveUp != test.gaveUp || l.LostPhase != test.phase {
				t.Errorf("it gave up %v (%q), want %v (%q): %+v", gaveUp, l.LostPhase, test.gaveUp, test.phase, l)
			}
			if test.gaveUp && l.GaveUp.Error == "" {
				t.Error("why is not known")
			}
		})
	}
}

func TestLogOfAJobThatLives(t *testing.T) {
	log := `I1121 01:55:00.000000       1 klog.go:1] restore=velero/r9
panic: runtime error restore=velero/r9
time="2026-11-21T01:55:10Z" level=info msg="Restored 3 items" progress= restore=velero/r9
time="2026-11-21T01:55:20Z" level=debug msg="Checking the progress" restore=velero/r9
time="soon" level=info msg="no time" restore=velero/r9
time="2026-11-21T01:55:30Z" level=info msg="unended restore=velero/r9
`
	l := ReadJobLog(log, "Restore", "velero", "r9", logStart)
	if l.Last.Text != "Restored 3 items" || !l.Last.At.Equal(logStart.Add(10*time.Second)) {
		t.Errorf("the newest line is %+v", l.Last)
	}
}

func TestHookInTheLog(t *testing.T) {
	const running = `time="2026-11-21T02:00:00Z" level=info msg="running exec hook" backup=velero/nightly hookCommand="[/bin/sh -c /dump.sh]" hookContainer=postgres hookName="<from-annotation>" hookPhase=pre hookTimeout=2h0m0s name=pg-0 namespace=shop resource=pods` + "\n"
	const ends = `time="2026-11-21T02:10:00Z" level=info msg="stdout: ok" backup=velero/nightly hookContainer=postgres name=pg-0 namespace=shop resource=pods` + "\n"
	h := ReadJobLog(running, "Backup", "velero", "nightly", logStart).Hook
	if h.Pod != "shop/pg-0" || h.Phase != "pre" || h.Timeout != 2*time.Hour || h.Container != "postgres" {
		t.Errorf("the hook is %+v", h)
	}
	if h := ReadJobLog(running+ends, "Backup", "velero", "nightly", logStart).Hook; h.Pod != "" {
		t.Errorf("the hook is %+v after its end", h)
	}
}

func TestMergedLogs(t *testing.T) {
	read := func(log string) JobLog { return ReadJobLog(log, "Restore", "velero", "s3-apidown", logStart) }
	life := read(`time="2026-11-21T01:58:00Z" level=info msg=x restore=velero/s3-apidown` + "\n")
	for n, l := range []JobLog{read(lost).Merge(JobLog{}), JobLog{}.Merge(read(lost))} {
		if l.LostPhase == "" || l.Last.Text != "restore completed" {
			t.Errorf("%d: merged with nothing it is %+v", n, l)
		}
	}
	for n, l := range []JobLog{read(lost).Merge(life), life.Merge(read(lost))} {
		if !l.GaveUp.At.IsZero() || l.Last.Text != "x" {
			t.Errorf("%d: with later work in another log it is %+v", n, l)
		}
	}
}

func FuzzJobLog(f *testing.F) {
	f.Add(lost)
	f.Add("{\"time\":1}\n=\n\"=\n" + `a="` + "\n\x1b[2J\x00\xff=\n")
	f.Fuzz(func(t *testing.T, log string) {
		l := ReadJobLog(log, "Restore", "velero", "s3-apidown", logStart)
		if l.LostPhase != "" && !isPhase(l.LostPhase) {
			t.Errorf("it carried %q", l.LostPhase)
		}
		l.Merge(l)
	})
}
