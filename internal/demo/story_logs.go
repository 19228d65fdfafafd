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

// logger writes the logs of the story's pods: the server's, the node-agents' and
// the mover pods', each line when the objects show what it tells.
type logger struct {
	cluster *cluster.Cluster
	clock   func() time.Time
	seen    map[types.UID]moment
	// last is the time of the newest line: two lines never share one.
	last time.Time
}

// moment is an object as it was last looked at.
type moment struct {
	phase string
	done  int
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// run writes until ctx ends.
func (l *logger) run(ctx context.Context) {
	for {
		l.write()
		if replay.Sleep(ctx, time.Second) != nil {
			return
		}
	}
}

// write tells what changed since it last looked. Of what it sees first, the
// scenes tell themselves.
func (l *logger) write() {
	first := l.seen == nil
	seen := map[types.UID]moment{}
	for _, kind := range toldKinds {
		for _, o := range l.cluster.List(kind, "") {
			j := storyJob{o}
			now := moment{j.text("status", "phase"), j.items() + j.number("status", "progress", "bytesDone")}
			old, known := l.seen[o.GetUID()]
			seen[o.GetUID()] = now
			running := j.text("status", "completionTimestamp") == "" && now.phase != ""
			if first || now == old || !known && !running {
				continue
			}
			if kind == toldKinds[0] || kind == toldKinds[1] {
				l.job(j, old, now)
			} else {
				l.volume(j, old, now)
			}
		}
	}
	l.seen = seen
}

// say appends a line to a pod's log.
func (l *logger) say(pod *cluster.Object, level, msg, source, fields string) {
	if pod == nil {
		return
	}
	now := l.clock()
	if !now.After(l.last) {
		now = l.last.Add(time.Microsecond)
	}
	l.last = now
	text := fmt.Sprintf(
		"time=%q level=%s msg=%q %s logSource=%q",
		now.UTC().Format(time.RFC3339),
		level,
		msg,
		fields,
		source,
	)
	l.cluster.Log(pod.GetNamespace(), pod.GetName(), cluster.Line{Time: now, Text: text})
}

// pod is the first that f selects.
func (l *logger) pod(f func(*cluster.Object) bool) *cluster.Object {
	for _, p := range l.cluster.List(podKind, "") {
		if f(p) {
			return p
		}
	}
	return nil
}

func (l *logger) job(j storyJob, old, now moment) {
	server := l.pod(responder.IsServer)
	kind := strings.ToLower(j.GetKind())
	about := fmt.Sprintf("%s=%s/%s", kind, j.GetNamespace(), j.GetName())
	total := j.number("status", "progress", "totalItems")
	source := "pkg/controller/" + kind + "_controller.go:"
	switch {
	case now.phase != old.phase && now.phase == "InProgress" && j.restore():
		l.say(server, "info", "starting restore", source+"578", about)
	case now.phase != old.phase && now.phase == "InProgress":
		l.say(server, "info", "Setting up backup log", source+"734", about)
	case now.phase == "InProgress" && j.restore():
		l.say(
			server,
			"info",
			fmt.Sprintf(
				"Restored %d items out of an estimated total of %d (estimate will change throughout the restore)",
				now.done,
				total,
			),
			"pkg/restore/restore.go:1084",
			about,
		)
	case now.phase == "InProgress":
		l.say(
			server,
			"info",
			fmt.Sprintf(
				"Backed up %d items out of an estimated total of %d (estimate will change throughout the backup)",
				now.done,
				total,
			),
			"pkg/backup/backup.go:405",
			about,
		)
	case now.phase == old.phase:
	case old.phase == "InProgress" && j.restore():
		for range j.number("status", "warnings") {
			l.say(
				server,
				"warning",
				"Cluster resource restore warning: could not restore, it already exists. Warning: the in-cluster version is "+
					"different than the backed-up version",
				source+"633",
				about,
			)
		}
		for range j.number("status", "errors") {
			l.say(
				server,
				"error",
				"Namespace error: exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=4, limited: "+
					"count/configmaps=4",
				source+"637",
				about,
			)
		}
		l.say(server, "info", "restore completed", source+"640", about)
	case old.phase == "InProgress":
		l.say(server, "info", "Initial backup processing complete, moving to "+now.phase, source+"873", about)
	}
}

// volumeLines are what a node-agent says when a volume comes to a phase.
var volumeLines = map[string][]string{
	"Accepted":   {"Data upload is accepted", "Snapshot is exposed"},
	"Prepared":   {"Exposed snapshot is ready and creating data path routine"},
	"InProgress": {"Async backup started", "Data upload is marked as in progress"},
	"Completed":  {"Async fs backup data path completed", "Data upload completed"},
	"Canceled":   {"Data upload is canceled"},
	"Failed":     {"update data upload status to Failed"},
}

func (l *logger) volume(v storyJob, old, now moment) {
	node := v.text("status", "node")
	if node == "" {
		node = v.text("spec", "node")
	}
	agent := l.pod(func(p *cluster.Object) bool {
		on := storyJob{p}.text("spec", "nodeName")
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
		for _, text := range volumeLines[now.phase] {
			if v.GetKind() == "PodVolumeBackup" {
				text = strings.NewReplacer(
					"Data upload", "PVB",
					"data upload", "PVB",
					"Exposed snapshot", "Exposed PVB",
					"Snapshot", "PVB",
				).Replace(text)
			}
			l.say(agent, "info", text, "pkg/controller/"+strings.ToLower(v.GetKind())+"_controller.go", about)
		}
	}
	if now.phase == "InProgress" {
		mover := l.pod(func(p *cluster.Object) bool { return p.GetName() == v.GetName() })
		if old.phase != now.phase {
			l.say(
				mover,
				"info",
				"Async fs backup data path started",
				"pkg/datamover/backup_micro_service.go:207",
				about,
			)
		}
		l.say(
			mover,
			"info",
			fmt.Sprintf("Uploaded %d of %d bytes", now.done, v.number("status", "progress", "totalBytes")),
			"pkg/uploader/kopia/progress.go:110",
			about,
		)
	}
}

// begin gives the node-agents the first lines of their logs, and looks at what
// is there.
func (l *logger) begin() {
	for _, p := range l.cluster.List(podKind, "") {
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
			l.cluster.Log(
				p.GetNamespace(),
				p.GetName(),
				cluster.Line{
					Time: at,
					Text: fmt.Sprintf(
						"time=%q level=info msg=%q logSource=\"pkg/cmd/cli/nodeagent/server.go\"",
						stamp(at),
						msg,
					),
				},
			)
		}
	}
	l.write()
}
