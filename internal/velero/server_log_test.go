package velero

import (
	"slices"
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
		"as recorded": {lost, "Restore", "s3-apidown", "FinalizingPartiallyFailed", true},
		"lines of others after it": {
			lost + later + "msg=x restore=velero/s3\n" + later + "msg=x backup=velero/s3-apidown\n",
			"Restore",
			"s3-apidown",
			"FinalizingPartiallyFailed",
			true,
		},
		"the server worked on it after that": {
			lost + later + `msg="Attempting to restore Pod: a" restore=velero/s3-apidown` + "\n",
			"Restore",
			"s3-apidown",
			"",
			false,
		},
		"a name that begins as another": {lost, "Restore", "s3-api", "", false},
		"a name that another begins": {
			strings.ReplaceAll(lost, "s3-apidown", "s3"),
			"Restore",
			"s3-apidown",
			"",
			false,
		},
		"another namespace": {
			strings.ReplaceAll(lost, "=velero/", "=dr/"),
			"Restore",
			"s3-apidown",
			"",
			false,
		},
		"a backup of that name": {lost, "Backup", "s3-apidown", "", false},
		"before the job began": {
			strings.ReplaceAll(lost, "T01:55", "T01:54"),
			"Restore",
			"s3-apidown",
			"",
			false,
		},
		"cut off in its last line": {lost[:len(lost)-1], "Restore", "s3-apidown", "", false},
		"a phase that does not exist": {
			strings.ReplaceAll(lost, "FinalizingPartiallyFailed", "Paradise"),
			"Restore",
			"s3-apidown",
			"",
			false,
		},
		"said by another in its message": {
			later + `msg="quoted: Error updating restore's status from InProgress to Failed Restore=velero/r9" restore=velero/r9` + "\n",
			"Restore",
			"r9",
			"",
			false,
		},
		"forged behind a quotation mark": {
			later + `msg="x\" Restore=velero/r9 msg=\"Error updating restore's status from InProgress to Failed" restore=velero/r8` + "\n",
			"Restore",
			"r9",
			"",
			false,
		},
		"1.14": {
			later + `msg="Error updating restore's final status" Restore=velero/r9 error="connection refused"` + "\n",
			"Restore",
			"r9",
			"",
			true,
		},
		"the finalizer, which tries again": {
			later + `msg="error updating restore's final status" restore finalizer=velero/r9 error="refused"` + "\n",
			"Restore",
			"r9",
			"",
			false,
		},
		"a backup": {
			`time="2026-11-21T01:58:00Z" level=error msg="error updating backup's status from InProgress to WaitingForPluginOperations" backuprequest=velero/b1 error="etcdserver: request timed out"` + "\n",
			"Backup",
			"b1",
			"WaitingForPluginOperations",
			true,
		},
		"JSON": {
			`{"Restore":"velero/r9","error.message":"refused","level":"info","msg":"Error updating restore's status from InProgress to Finalizing","time":"2026-11-21T01:58:00Z","n":1}` + "\n",
			"Restore",
			"r9",
			"Finalizing",
			true,
		},
		"deleted after it": {
			lost + later + `msg="Removing backup" backup=velero/s3-apidown restore=velero/s3-apidown controller=backup-deletion` + "\n",
			"Restore",
			"s3-apidown",
			"FinalizingPartiallyFailed",
			true,
		},
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

func TestLogInParts(t *testing.T) {
	read := func(log string) JobLog { return ReadJobLog(log, "Restore", "velero", "s3-apidown", logStart) }
	life := read(`time="2026-11-21T01:58:00Z" level=info msg=x restore=velero/s3-apidown` + "\n")
	for n, l := range []JobLog{read(lost).MergeLater(JobLog{}), JobLog{}.MergeLater(read(lost)), read(lost).MergeLater(read(lost))} {
		if l.LostPhase == "" || l.Last.Text != "restore completed" {
			t.Errorf("%d: with nothing new it is %+v", n, l)
		}
	}
	for n, l := range []JobLog{read(lost).MergeLater(life), life.MergeLater(read(lost)), read(lost).MergeServer(life), life.MergeServer(read(lost))} {
		if !l.GaveUp.At.IsZero() || l.LostPhase != "" || l.Last.Text != "x" && n != 1 {
			t.Errorf("%d: with later work in another part it is %+v", n, l)
		}
	}
	stepped := ReadJobLog(
		`time="2026-11-21T01:50:00Z" level=info msg=x restore=velero/s3-apidown`+"\n",
		"Restore",
		"velero",
		"s3-apidown",
		logStart.Add(-time.Hour),
	)
	if l := read(lost).MergeLater(stepped); !l.GaveUp.At.IsZero() || l.Last.Text != "x" {
		t.Errorf("with later work by a clock that went back it is %+v", l)
	}
	if l := read(lost).MergeServer(JobLog{}); !l.GaveUp.At.IsZero() {
		t.Error("one of two servers gave up, and the other may work on it")
	}
}

func TestFinal(t *testing.T) {
	at := logStart
	for name, c := range map[string]struct {
		wrote, started, now time.Duration
		unknown, final      bool
	}{
		"nothing speaks against it":     {-time.Minute, -time.Hour, time.Minute, false, true},
		"clocks differ a little":        {time.Minute, -time.Hour, -time.Minute, false, true},
		"written after that":            {3 * time.Minute, -time.Hour, time.Hour, false, false},
		"a server started after that":   {0, time.Second, time.Hour, false, false},
		"a server started at that time": {0, 0, time.Hour, false, false},
		"since when it runs is unknown": {0, 0, time.Hour, true, false},
		"a time to come":                {0, -time.Hour, -time.Hour, false, false},
	} {
		started := at.Add(c.started)
		if c.unknown {
			started = time.Time{}
		}
		l := JobLog{GaveUp: LogLine{At: at}}
		if final := l.HasGivenUp(at.Add(c.wrote), started, at.Add(c.now)); final != c.final {
			t.Errorf("%s: final is %v", name, final)
		}
	}
	if (JobLog{}).HasGivenUp(time.Time{}, at, at) {
		t.Error("a log without such a line is final")
	}
}

// Nothing but the controller's own line, of this run of this job, ends it.
// The backup controller stops its workers after it gave up, as a server of 1.18.3
// logged it.
func TestWorkersEndAfterGivingUp(t *testing.T) {
	const gaveUp = `time="2026-11-21T01:58:00Z" level=error msg="error updating backup's status from InProgress to Finalizing" backuprequest=velero/b1 controller=backup error=refused logSource="pkg/controller/backup_controller.go:374"` + "\n"
	const ends = `time="2026-11-21T01:58:00Z" level=info msg="ItemBlock worker stopping" backuprequest=velero/b1 controller=backup logSource="pkg/backup/item_block_worker_pool.go:73"
time="2026-11-21T01:58:00Z" level=info msg="stopping ItemBlock worker" backuprequest=velero/b1 controller=backup logSource="pkg/backup/item_block_worker_pool.go:94" worker=0
time="2026-11-21T01:58:00Z" level=info msg="ItemBlock worker stopped" backuprequest=velero/b1 controller=backup logSource="pkg/backup/item_block_worker_pool.go:75"
`
	if l := ReadJobLog(gaveUp+ends, "Backup", "velero", "b1", logStart); l.LostPhase != "Finalizing" {
		t.Errorf("it tells %+v", l)
	}
	for name, after := range map[string]string{
		"a plugin's words":  strings.ReplaceAll(ends, "controller=backup", "controller=backup pluginName=x"),
		"another source":    strings.ReplaceAll(ends, "item_block_worker_pool", "backup"),
		"an item after it":  ends + `time="2026-11-21T01:58:00Z" level=info msg="Backed up" backup=velero/b1` + "\n",
		"a worker at work":  strings.ReplaceAll(ends, "stopping ItemBlock worker", "processing ItemBlock for backup b1"),
		"the words of none": strings.ReplaceAll(ends, `logSource="pkg/backup/item_block_worker_pool.go:94"`, ""),
	} {
		if l := ReadJobLog(gaveUp+after, "Backup", "velero", "b1", logStart); !l.GaveUp.At.IsZero() {
			t.Errorf("%s: it gave up: %+v", name, l.GaveUp)
		}
	}
}

func TestLogThatLies(t *testing.T) {
	const text = "error updating backup's status from InProgress to Finalizing"
	const own = `time="2026-11-21T01:58:00Z" level=error msg="` + text + `" backuprequest=velero/b1 error=refused logSource="pkg/controller/backup_controller.go:374"`
	const work = `time="2026-11-21T01:57:00Z" level=info msg="Processing item" backup=velero/b1` + "\n"
	for name, log := range map[string]string{
		"a warning of the API server":          "W1121 01:58:00.000000       1 warnings.go:70] note=x " + own,
		"a warning that begins with a field":   "W1121 01:58:00.000000       1 warnings.go:70] " + own,
		"an indented line of a message":        "\t" + own,
		"a line with a space before":           " " + own,
		"a plugin":                             own + " cmd=/plugins/evil pluginName=evil",
		"a plugin without a name":              own + " pluginName=",
		"another part of the server":           strings.ReplaceAll(own, "backup_controller", "gc_controller"),
		"another job's request":                strings.ReplaceAll(own, "backuprequest=velero/b1", "backup=velero/b1 backuprequest=velero/b2"),
		"another namespace's request":          strings.ReplaceAll(own, "backuprequest=velero/b1", "backup=velero/b1 backuprequest=dr/b1"),
		"a request without a namespace":        strings.ReplaceAll(own, "backuprequest=velero/b1", "backup=velero/b1 backuprequest=b1"),
		"no request":                           strings.ReplaceAll(own, "backuprequest=", "backup="),
		"a restore of that name":               strings.ReplaceAll(own, "backuprequest=", "Restore="),
		"the second in which the job began":    strings.ReplaceAll(own, "01:58", "01:55"),
		"a hook's output":                      `time="2026-11-21T01:58:00Z" level=info msg="stdout: x\n` + strings.ReplaceAll(own, `"`, `\"`) + `\n" backup=velero/b1`,
		"the rest of a hook's output, cut off": strings.ReplaceAll(own, `"`, `\"`) + `\n" backup=velero/b1`,
		"a name of an item":                    `time="2026-11-21T01:58:00Z" level=info msg="Backed up" name="x\" backuprequest=velero/b1 msg=\"` + text + `" backup=velero/b1`,
		"a field that repeats":                 `time="2026-11-21T01:58:00Z" level=info msg="Backed up" backuprequest=velero/b1 msg="` + text + `"`,
		"in debug":                             strings.ReplaceAll(own, "level=error", "level=debug"),
		"another error of that controller":     strings.ReplaceAll(own, "updating backup's status from InProgress to Finalizing", "getting backup"),
		"from another phase":                   strings.ReplaceAll(own, "from InProgress", "from WaitingForPluginOperations"),
		"a phase with more behind it":          strings.ReplaceAll(own, "to Finalizing", "to Finalizing soon"),
		"cut at a byte limit":                  own[:len(own)-20],
		"work after it by a clock set back":    own + "\n" + strings.ReplaceAll(work, "01:57", "01:56"),
		"earlier than work before it":          strings.ReplaceAll(work, "01:57", "01:59") + own,
		"a time without end":                   strings.ReplaceAll(own, "2026-11-21T01:58:00Z", "99999999-11-21T01:58:00Z"),
		"bytes":                                "time=\x00\xff\x1b[2J " + own,
		"JSON in a message":                    `{"level":"info","msg":"{\"backuprequest\":\"velero/b1\",\"msg\":\"` + text + `\"}","backup":"velero/b1","time":"2026-11-21T01:58:00Z"}`,
		"JSON of a plugin":                     `{"level":"error","msg":"` + text + `","backuprequest":"velero/b1","pluginName":"x","time":"2026-11-21T01:58:00Z"}`,
		"JSON within JSON":                     `{"x":{"level":"error","msg":"` + text + `","backuprequest":"velero/b1","time":"2026-11-21T01:58:00Z"}}`,
		"JSON and more":                        `{"level":"error","msg":"` + text + `","backuprequest":"velero/b1","time":"2026-11-21T01:58:00Z"} {}`,
		"JSON of no text":                      `{"level":"error","msg":["` + text + `"],"backuprequest":"velero/b1","time":"2026-11-21T01:58:00Z"}`,
	} {
		if l := ReadJobLog(log+"\n", "Backup", "velero", "b1", logStart); !l.GaveUp.At.IsZero() {
			t.Errorf("%s: it gave up: %+v", name, l.GaveUp)
		}
	}
	if l := ReadJobLog(work+own+"\n", "Backup", "velero", "b1", logStart); l.LostPhase != "Finalizing" {
		t.Errorf("its own line tells %+v", l)
	}
}

func FuzzJobLog(f *testing.F) {
	f.Add(lost)
	f.Add("{\"time\":1}\n=\n\"=\n" + `a="` + "\n\x1b[2J\x00\xff=\n")
	f.Fuzz(func(t *testing.T, log string) {
		l := ReadJobLog(log, "Restore", "velero", "s3-apidown", logStart)
		if l.LostPhase != "" && !slices.Contains(lastPhases, l.LostPhase) {
			t.Errorf("it carried %q", l.LostPhase)
		}
		l.MergeLater(l).MergeServer(l)
	})
}

func failedWatch(why string) string {
	return `time="2026-11-24T05:22:26Z" level=error msg="Failed to watch" error="failed to list trap.io/v1, Resource=things: ` + why + `" logSource="tools/cache/reflector.go:200"`
}

// A restore that waits for its caches, and the kind that cannot be listed, as the
// servers of 1.18 and of 1.16 log it.
func TestKindThatIsNotListed(t *testing.T) {
	const waits = `time="2026-11-24T05:22:00Z" level=info msg="waiting informer cache sync ..." restore=velero/app` + "\n"
	since := time.Date(2026, 11, 24, 5, 0, 0, 0, time.UTC)
	for _, c := range []struct{ log, want string }{
		{waits + `time="2026-11-24T05:22:26Z" level=error msg="Failed to watch" error="failed to list trap.io/v1, Resource=things: not found" logSource="tools/cache/reflector.go:200"`, "failed to list trap.io/v1, Resource=things: not found"},
		{waits + `time="2026-11-24T05:22:26Z" level=error msg="Unhandled Error" error="k8s.io/client-go@v0.31.3/tools/cache/reflector.go:243: Failed to watch trap.io/v1, Resource=things: failed to list trap.io/v1, Resource=things: not found"`, "failed to list trap.io/v1, Resource=things: not found"},
		{waits + `time="2026-11-24T05:22:26Z" level=error msg="failed to list backups" error="no"`, ""},
		{waits + failedWatch(`Get \"https://10.0.0.1:443/apis/trap.io/v1/things\": net/http: TLS handshake timeout`), ""},
		{waits + failedWatch("etcdserver: request timed out"), ""},
		{waits + failedWatch("context deadline exceeded"), ""},
		{waits + failedWatch(`conversion webhook for trap.io/v1, Kind=Thing failed: Post \"https://w.shop.svc:443\": connection refused`),
			`failed to list trap.io/v1, Resource=things: conversion webhook for trap.io/v1, Kind=Thing failed: Post "https://w.shop.svc:443": connection refused`},
		{waits + `time="2026-11-24T05:22:20Z" level=info msg="restoring" restore=velero/app` + "\n" + `time="2026-11-24T05:22:26Z" level=error msg="Failed to watch" error="failed to list trap.io/v1"`, ""},
	} {
		if got := ReadJobLog(c.log+"\n", "Restore", "velero", "app", since); got.ListFailure.Error != c.want {
			t.Errorf("%q, want %q", got.ListFailure.Error, c.want)
		}
	}
}

// A list that the API server refuses again and again counts from its first refusal,
// whatever part of the log that is in.
func TestKindIsNotListedSince(t *testing.T) {
	at := func(minute, second int) time.Time { return time.Date(2026, 11, 24, 5, minute, second, 0, time.UTC) }
	const waits = `time="2026-11-24T05:22:00Z" level=info msg="waiting informer cache sync ..." restore=velero/app` + "\n"
	refused := func(minute string) string {
		return strings.Replace(failedWatch("not found"), "05:22:26", minute, 1) + "\n"
	}
	read := func(log string) JobLog { return ReadJobLog(log, "Restore", "velero", "app", at(0, 0)) }
	first, second := waits+refused("05:22:26"), waits+refused("05:23:30")
	for name, c := range map[string]struct {
		log  JobLog
		want time.Time
	}{
		"twice":              {read(first + refused("05:23:30")), at(22, 26)},
		"in two parts":       {read(first).MergeLater(read(second)), at(22, 26)},
		"answered meanwhile": {read(waits + refused("05:20:26") + refused("05:23:30")), at(23, 30)},
		"it waits anew":      {read(first + strings.Replace(waits, "05:22:00", "05:23:00", 1) + refused("05:23:30")), at(23, 30)},
		"it waits for later": {read(first).MergeLater(read(strings.Replace(waits, "05:22:00", "05:23:00", 1) + refused("05:23:30"))), at(23, 30)},
	} {
		if got := c.log; !got.UnlistedSince.Equal(c.want) || !got.ListFailure.At.Equal(at(23, 30)) {
			t.Errorf("%s: since %s until %s, want %s", name, got.UnlistedSince, got.ListFailure.At, c.want)
		}
	}
}

// What a controller could not read from the object store stands until the server goes on.
func TestStoreFailure(t *testing.T) {
	const stamp = `time="2026-11-21T01:58:0`
	own := stamp + `0Z" level=error msg="error getting volumeInfo for backup b" error="rpc error: code = Unknown desc = ` +
		`operation error S3: HeadObject" logSource="pkg/controller/restore_finalizer_controller.go:153" ` +
		`restore finalizer=velero/r` + "\n"
	returned := stamp + `1Z" level=error msg="Reconciler error" controller=restore-finalizer controllerKind=Restore ` +
		`error="error getting volumeInfo: rpc error" name=r namespace=velero` + "\n"
	ended := stamp + `2Z" level=info msg="Marking restore Completed" restore finalizer=velero/r` + "\n"
	deletion := strings.Replace(returned, "restore-finalizer", "backup-deletion", 1)
	for name, test := range map[string]struct {
		log    string
		second int
	}{
		"its own line":             {own, 0},
		"the error it returned":    {own + returned, 1},
		"it went on":               {own + returned + ended, -1},
		"another controller":       {deletion, -1},
		"of another restore":       {strings.ReplaceAll(returned, "name=r ", "name=r2 "), -1},
		"an error of another kind": {strings.ReplaceAll(returned, "error getting volumeInfo", "conflict"), -1},
	} {
		t.Run(name, func(t *testing.T) {
			got := ReadJobLog(test.log, "Restore", "velero", "r", logStart).StoreFailure.At
			if test.second < 0 != got.IsZero() || test.second >= 0 && got.Second() != test.second {
				t.Errorf("a failure at %s", got)
			}
		})
	}
	earlier := ReadJobLog(own, "Restore", "velero", "r", logStart)
	later := ReadJobLog(ended, "Restore", "velero", "r", logStart)
	if at := earlier.MergeLater(later).StoreFailure.At; !at.IsZero() {
		t.Errorf("a later part of the log goes on: %s", at)
	}
	if at := earlier.MergeLater(JobLog{}).StoreFailure.At; at.IsZero() {
		t.Error("a later part says nothing")
	}
}
