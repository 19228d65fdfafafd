package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/replay"
	"github.com/veltui/veltui/internal/demo/responder"
)

// storyLogger writes the logs of the story's pods: the server's, the node-agents' and the mover pods', each line when
// the objects show what it reports.
type storyLogger struct {
	cluster    *cluster.Cluster
	clock      func() time.Time
	lastStates map[types.UID]loggedState
	// lastTime is the time of the newest line: two lines never share one.
	lastTime time.Time
}

// loggedState is the last seen state of an object.
type loggedState struct {
	phase    string
	progress int
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// followStory writes log lines until ctx ends.
func (l *storyLogger) followStory(ctx context.Context) {
	for {
		l.writeChanges()
		if replay.SleepContext(ctx, time.Second) != nil {
			return
		}
	}
}

// writeChanges logs the changes since the last call. The first call logs nothing: the scenes have the log lines of
// their own objects.
func (l *storyLogger) writeChanges() {
	first := l.lastStates == nil
	seen := map[types.UID]loggedState{}
	for _, kind := range storyKinds {
		for _, o := range l.cluster.ListObjects(kind, "") {
			j := storyObject{o}
			now := loggedState{j.stringField("status", "phase"), j.itemCount() + j.intField("status", "progress", "bytesDone")}
			old, known := l.lastStates[o.GetUID()]
			seen[o.GetUID()] = now
			running := j.stringField("status", "completionTimestamp") == "" && now.phase != ""
			if first || now == old || !known && !running {
				continue
			}
			if kind == storyKinds[0] || kind == storyKinds[1] {
				l.logJob(j, old, now)
			} else {
				l.logVolume(j, old, now)
			}
		}
	}
	l.lastStates = seen
}

// appendLine appends a line to a pod's log.
func (l *storyLogger) appendLine(pod *cluster.Object, level, msg, source, fields string) {
	if pod == nil {
		return
	}
	now := l.clock()
	if !now.After(l.lastTime) {
		now = l.lastTime.Add(time.Microsecond)
	}
	l.lastTime = now
	text := fmt.Sprintf(
		"time=%q level=%s msg=%q %s logSource=%q",
		now.UTC().Format(time.RFC3339),
		level,
		msg,
		fields,
		source,
	)
	l.cluster.AppendLog(pod.GetNamespace(), pod.GetName(), cluster.LogLine{Time: now, Text: text})
}

// findPod returns the first pod that f selects.
func (l *storyLogger) findPod(f func(*cluster.Object) bool) *cluster.Object {
	for _, p := range l.cluster.ListObjects(podKind, "") {
		if f(p) {
			return p
		}
	}
	return nil
}

func (l *storyLogger) logJob(j storyObject, old, now loggedState) {
	server := l.findPod(responder.IsServerPod)
	kind := strings.ToLower(j.GetKind())
	about := fmt.Sprintf("%s=%s/%s", kind, j.GetNamespace(), j.GetName())
	total := j.intField("status", "progress", "totalItems")
	source := "pkg/controller/" + kind + "_controller.go:"
	switch {
	case now.phase != old.phase && now.phase == "InProgress" && j.isRestore():
		l.appendLine(server, "info", "starting restore", source+"578", about)
	case now.phase != old.phase && now.phase == "InProgress":
		l.appendLine(server, "info", "Setting up backup log", source+"734", about)
	case now.phase == "InProgress" && j.isRestore():
		l.appendLine(
			server,
			"info",
			fmt.Sprintf(
				"Restored %d items out of an estimated total of %d (estimate will change throughout the restore)",
				now.progress,
				total,
			),
			"pkg/restore/restore.go:1084",
			about,
		)
	case now.phase == "InProgress":
		l.appendLine(
			server,
			"info",
			fmt.Sprintf(
				"Backed up %d items out of an estimated total of %d (estimate will change throughout the backup)",
				now.progress,
				total,
			),
			"pkg/backup/backup.go:405",
			about,
		)
	case now.phase == old.phase:
	case old.phase == "InProgress" && j.isRestore():
		for range j.intField("status", "warnings") {
			l.appendLine(
				server,
				"warning",
				"Cluster resource restore warning: could not restore, it already exists. Warning: the in-cluster version is "+
					"different than the backed-up version",
				source+"633",
				about,
			)
		}
		for range j.intField("status", "errors") {
			l.appendLine(
				server,
				"error",
				"Namespace error: exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=4, limited: "+
					"count/configmaps=4",
				source+"637",
				about,
			)
		}
		l.appendLine(server, "info", "restore completed", source+"640", about)
	case old.phase == "InProgress":
		l.appendLine(server, "info", "Initial backup processing complete, moving to "+now.phase, source+"873", about)
	}
}

// volumeLogLines are the messages that a node-agent logs when a volume reaches a phase.
var volumeLogLines = map[string][]string{
	"Accepted":   {"Data upload is accepted", "Snapshot is exposed"},
	"Prepared":   {"Exposed snapshot is ready and creating data path routine"},
	"InProgress": {"Async backup started", "Data upload is marked as in progress"},
	"Completed":  {"Async fs backup data path completed", "Data upload completed"},
	"Canceled":   {"Data upload is canceled"},
	"Failed":     {"update data upload status to Failed"},
}

func (l *storyLogger) logVolume(v storyObject, old, now loggedState) {
	node := v.stringField("status", "node")
	if node == "" {
		node = v.stringField("spec", "node")
	}
	agent := l.findPod(func(p *cluster.Object) bool {
		on := storyObject{p}.stringField("spec", "nodeName")
		return p.GetLabels()["name"] == "node-agent" && (node == "" || on == node)
	})
	about := fmt.Sprintf(
		"%s=%s/%s controller=%s",
		strings.ToLower(v.GetKind()),
		v.GetNamespace(),
		v.GetName(),
		strings.ToLower(v.GetKind()),
	)
	if now.phase != old.phase {
		for _, text := range volumeLogLines[now.phase] {
			if v.GetKind() == "PodVolumeBackup" {
				text = strings.NewReplacer(
					"Data upload", "PVB",
					"data upload", "PVB",
					"Exposed snapshot", "Exposed PVB",
					"Snapshot", "PVB",
				).Replace(text)
			}
			l.appendLine(agent, "info", text, "pkg/controller/"+strings.ToLower(v.GetKind())+"_controller.go", about)
		}
	}
	if now.phase == "InProgress" {
		mover := l.findPod(func(p *cluster.Object) bool { return p.GetName() == v.GetName() })
		if old.phase != now.phase {
			l.appendLine(
				mover,
				"info",
				"Async fs backup data path started",
				"pkg/datamover/backup_micro_service.go:207",
				about,
			)
		}
		l.appendLine(
			mover,
			"info",
			fmt.Sprintf("Uploaded %d of %d bytes", now.progress, v.intField("status", "progress", "totalBytes")),
			"pkg/uploader/kopia/progress.go:110",
			about,
		)
	}
}

// writeFirstLines writes the first lines of the node-agents' logs, and records the initial states.
func (l *storyLogger) writeFirstLines() {
	for _, p := range l.cluster.ListObjects(podKind, "") {
		if p.GetLabels()["name"] != "node-agent" {
			continue
		}
		at := p.GetCreationTimestamp().Time
		for n, msg := range []string{
			"Setting log-level to INFO",
			"Starting Velero node-agent server v1.18.3",
			"Starting data path manager, 1 at a time",
			"Starting controllers",
		} {
			at := at.Add(time.Duration(n) * time.Second)
			l.cluster.AppendLog(
				p.GetNamespace(),
				p.GetName(),
				cluster.LogLine{
					Time: at,
					Text: fmt.Sprintf(
						"time=%q level=info msg=%q logSource=\"pkg/cmd/cli/nodeagent/server.go\"",
						formatTime(at),
						msg,
					),
				},
			)
		}
	}
	l.writeChanges()
}
