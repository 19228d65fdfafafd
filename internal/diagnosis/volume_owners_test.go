package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// world is a volume and the processes around it, for a model of Velero's rule that does not read the table.
type world struct {
	kind      velero.VolumeKind
	phase     string
	minor     int // of Velero 1.x
	cancelled bool
	node, by  string // of the volume; who accepted it
	mover     velero.MoverPhase
	// wrote, accepted, started and the agents' starts are minutes before noon.
	wrote, accepted, started float64
	agents                   map[string]float64
	pulling                  map[string]bool // node-agents that are coming
	// busy is the node whose worker exposes another volume of the kind, accepted so long ago.
	busy      string
	busySince float64
	operation float64 // spec.operationTimeout, in minutes
}

func (w *world) String() string { return fmt.Sprintf("%+v", *w) }

const modelPrepare = 30

// alive is the model: whether any process may still act on the volume at noon, by Velero's control flow.
func (w *world) alive() bool {
	movement := !w.kind.IsPodVolume()
	expose := modelPrepare + 2*w.operation
	look := expose
	if !movement {
		look = 30 // three volumes of ten minutes
	}
	now := func(from, takes float64) bool { return from < takes }
	since := func(node string) (float64, bool) { s, up := w.agents[node]; return min(s, w.wrote), up }
	free := func(node string) bool { return node != w.busy || !movement || w.busySince >= expose }
	here, up := since(w.node)
	ofAny := w.phase == velero.VolumeAccepted || w.phase == velero.VolumeNew && w.kind != velero.PodVolumeBackup ||
		w.cancelled && (w.minor >= 17 || w.phase == velero.VolumePrepared)
	if w.phase != velero.VolumeAccepted && w.pulling[w.node] || ofAny && len(w.agents) == 0 && len(w.pulling) > 0 {
		return true
	}
	if w.cancelled && w.minor >= 17 {
		delay := map[string]float64{velero.VolumeInProgress: 61}[w.phase]
		if delay == 0 {
			delay = 6
		}
		anyFree := false
		for node := range w.agents {
			s, _ := since(node)
			if w.phase != velero.VolumeNew && now(s, delay) {
				return true
			}
			anyFree = anyFree || free(node)
		}
		if len(w.agents) > 0 && !anyFree {
			return true // the only workers are in Expose
		}
	}
	if w.cancelled && w.minor < 17 && movement &&
		(w.phase == velero.VolumeAccepted || w.phase == velero.VolumePrepared) {
		for node := range w.agents {
			if s, _ := since(node); now(s, expose) {
				return true
			}
		}
	}
	switch w.phase {
	case velero.VolumeNew:
		if w.kind == velero.PodVolumeRestore {
			return len(w.agents) > 0
		}
		if w.kind == velero.PodVolumeBackup {
			return up && now(here, look) || w.cancelled && w.anyWithin(since, look)
		}
		return w.anyWithin(since, look) || w.allBusy(free)
	case velero.VolumeAccepted:
		if s, runs := w.agents[w.by]; movement && runs && s >= w.accepted && now(w.accepted, expose) {
			return true
		}
		return len(w.agents) > 0 && now(w.accepted, modelPrepare+1) || w.anyWithin(since2(w), 1) || w.allBusy(free)
	case velero.VolumePrepared:
		return up && (now(here, look) || !free(w.node))
	}
	if inPod := w.minor >= 17 || movement && w.minor >= 15; inPod {
		if w.mover == velero.MoverRunning || w.mover == velero.MoverPending {
			return true
		}
		took := map[velero.VolumeKind]float64{velero.DataUpload: 3, velero.DataDownload: 1 + 4*w.operation}[w.kind]
		return up && (now(w.wrote, max(took, 1)) || now(w.agents[w.node], 10) && w.agents[w.node] < w.wrote)
	}
	s, runs := w.agents[w.node]
	return runs && (s >= w.started || now(s, 1))
}

func since2(w *world) func(string) (float64, bool) {
	return func(node string) (float64, bool) { s, up := w.agents[node]; return s, up }
}

func (w *world) anyWithin(since func(string) (float64, bool), takes float64) bool {
	for node := range w.agents {
		if s, up := since(node); up && s < takes {
			return true
		}
	}
	return false
}

func (w *world) allBusy(free func(string) bool) bool {
	for node := range w.agents {
		if free(node) {
			return false
		}
	}
	return len(w.agents) > 0
}

// randomWorld draws the times around the limits, where a wrong one shows.
func randomWorld(r *rand.Rand) *world {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	minutes := func() float64 {
		edges := []float64{0, 1, 3, 6, 10, 20, 30, 41, 50, 61, 110, 400, 3000}
		return max(0.1, edges[r.IntN(len(edges))]-3*r.Float64())
	}
	w := &world{
		kind:      velero.VolumeKinds[r.IntN(4)],
		minor:     14 + r.IntN(5),
		operation: float64([]int{10, 10, 25}[r.IntN(3)]),
		phase: pick(
			velero.VolumeNew,
			velero.VolumeAccepted,
			velero.VolumePrepared,
			velero.VolumeInProgress,
			velero.VolumeInProgress,
		),
		agents:  map[string]float64{},
		pulling: map[string]bool{},
		wrote:   minutes(),
		mover:   velero.MoverPhase(pick("", "", "", string(velero.MoverRunning), string(velero.MoverFailed))),
	}
	if w.kind.IsPodVolume() && w.minor < 17 {
		w.phase = pick(velero.VolumeNew, velero.VolumeInProgress)
	}
	w.cancelled = r.IntN(4) == 0 && (w.minor >= 17 || !w.kind.IsPodVolume())
	w.accepted, w.started = w.wrote, w.wrote+minutes()
	for _, node := range []string{"a", "b"} {
		switch r.IntN(5) {
		case 0, 1, 2:
			w.agents[node] = minutes()
		case 3:
			w.pulling[node] = r.IntN(4) == 0
		}
	}
	w.by = pick("a", "b", "x")
	if w.phase == velero.VolumePrepared || w.phase == velero.VolumeInProgress || w.kind == velero.PodVolumeBackup {
		w.node = pick("a", "a", "b", "x")
	}
	if _, up := w.agents["a"]; up && r.IntN(3) == 0 {
		w.busy, w.busySince = "a", minutes()
	}
	delete(w.pulling, "")
	for node, on := range w.pulling {
		if !on {
			delete(w.pulling, node)
		}
	}
	return w
}

// context is what veltui sees of a world.
func (w *world) context(table []velero.PossibleOwner) (*VolumeContext, *job.Volume) {
	v := job.Volume{Kind: w.kind, Name: "v", Phase: w.phase, Node: w.node, AcceptedBy: w.by, CancelRequested: w.cancelled,
		Created: minutesAgo(w.started), LastChanged: minutesAgo(w.wrote)}
	if w.phase != velero.VolumeNew {
		v.Accepted = minutesAgo(w.accepted)
	}
	if !w.kind.IsPodVolume() {
		v.OperationTimeout = time.Duration(w.operation) * time.Minute
	}
	if w.phase == velero.VolumeInProgress {
		v.Started = minutesAgo(w.started)
	}
	c := &VolumeContext{
		Now:             noon,
		AllVolumesKnown: true,
		PodsChecked:     true,
		Version:         fmt.Sprintf("v1.%d.2", w.minor),
		OwnerTable:      table,
		Slots:           velero.Slots{Source: "none"},
		MoverPods:       map[velero.VolumeRef]velero.Mover{},
		Volumes:         []job.Volume{v},
	}
	if w.minor == 18 {
		c.Version = "v1.18.3"
	}
	if w.mover != "" {
		c.MoverPods[v.Ref()] = velero.Mover{Pod: "v", Phase: w.mover, Node: w.node}
	}
	if w.busy != "" {
		c.Volumes = append(
			c.Volumes,
			job.Volume{
				Kind:             w.kind,
				Name:             "other",
				Phase:            velero.VolumeAccepted,
				AcceptedBy:       w.busy,
				OperationTimeout: v.OperationTimeout,
				Accepted:         minutesAgo(w.busySince),
				LastChanged:      minutesAgo(w.busySince),
			},
		)
	}
	var agents []velero.NodeAgent
	for node, start := range w.agents {
		agents = append(
			agents,
			velero.NodeAgent{Node: node, Ready: true, StartedAt: minutesAgo(start), Created: minutesAgo(5000)},
		)
	}
	for node := range w.pulling {
		agents = append(agents, velero.NodeAgent{Node: node, Created: minutesAgo(20), WaitingReason: "ContainerCreating"})
	}
	c.AddAgents(agents)
	return c, &v
}

// longDead reports whether nothing in the world is younger than any limit.
func (w *world) longDead() bool {
	for _, start := range w.agents {
		if start < 300 {
			return false
		}
	}
	return w.wrote > 300 && len(w.pulling) == 0 && w.busy == "" && !w.alive()
}

// wrongOwners judges worlds, and names the first that veltui calls dead though the model lives, or the reverse.
func wrongOwners(cases int, table []velero.PossibleOwner) (dead, living int, wrong string) {
	r := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // the same worlds each time
	for range cases {
		w := randomWorld(r)
		c, v := w.context(table)
		reason, cause := c.findStall(v)
		switch alive := w.alive(); {
		case alive && (cause != "" || c.StallCause(v) != ""):
			return dead, living, fmt.Sprintf("lives, but %s %q: %s", reason, cause, w)
		case alive:
			living++
		case w.longDead():
			dead++
			if cause == "" {
				return dead, living, fmt.Sprintf("is dead, and not found: %s", w)
			}
		}
	}
	return dead, living, ""
}

const ownerCases = 40_000

// No volume is proven dead that a process may still carry on, and what is dead for long is found.
func TestOwnersAgreeWithModel(t *testing.T) {
	dead, living, wrong := wrongOwners(ownerCases, velero.OwnerTable())
	if wrong != "" {
		t.Fatal(wrong)
	}
	if dead < ownerCases/100 || living < ownerCases/10 {
		t.Errorf("only %d dead and %d living ones of %d", dead, living, ownerCases)
	}
	t.Logf("%d cases: %d live, %d are dead for long", ownerCases, living, dead)
}

// A table that lacks an owner, or has a shorter limit, calls a living volume dead, but where a longer row of the same
// actor covers it.
func TestEachOwnerMatters(t *testing.T) {
	missed, tried := []string(nil), 0
	check := func(what string, row velero.PossibleOwner, table []velero.PossibleOwner) {
		tried++
		if _, _, wrong := wrongOwners(ownerCases, table); wrong == "" {
			missed = append(missed, fmt.Sprintf("%s %s %v %v %s", what, row.Name, row.Kinds, row.Phases, row.Actor))
		}
	}
	for i, row := range velero.OwnerTable() {
		check("removed", row, slices.Delete(velero.OwnerTable(), i, i+1))
		if row.Limit == nil || row.Limit(velero.OwnerLimits{}) < 4*ownerMargin {
			continue // the margin covers it
		}
		table := velero.OwnerTable()
		table[i].Limit = func(l velero.OwnerLimits) time.Duration { return row.Limit(l) / 4 }
		check("a quarter of", row, table)
	}
	// Longer rows of the same volume cover these: the restored pod, Expose, Resume, the first process, ForceCancel.
	covered := []string{
		"removed Take [PodVolumeRestore]",
		"a quarter of Take [PodVolumeRestore]",
		"removed NoteEnd [DataUpload]",
		"removed NoteEnd [PodVolumeBackup",
		"removed RebindVolume [DataDownload] [InProgress Canceling] the node-agent that began it",
		"a quarter of RebindVolume [DataDownload] [InProgress Canceling] the node-agent that began it",
		"removed Cancel [PodVolumeBackup PodVolumeRestore DataUpload DataDownload] [Prepared",
		"a quarter of Cancel [PodVolumeBackup PodVolumeRestore DataUpload DataDownload] [Prepared",
	}
	for _, m := range missed {
		if !slices.ContainsFunc(covered, func(c string) bool { return strings.HasPrefix(m, c) }) {
			t.Errorf("no case differs: %s", m)
		}
	}
	t.Logf("%d mutations, %d covered by longer rows", tried, len(missed))
}
