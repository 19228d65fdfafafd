package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Cause is why a job ended badly, more precisely than its phase says. It is zero if nothing tells.
type Cause struct {
	Reason Reason
	// Text is a sentence without its first capital and its full stop.
	Text string
	// Facts are the evidence for it, and what could not be seen. The facts of the verdict include them.
	Facts []Fact
	// IsMinority is true if the cause explains fewer than half of the failed volumes, or of the errors in the results.
	IsMinority bool
	// End is how the container ended on which the job depended, nil if that is not known or not the cause.
	End *velero.PodEnd
}

// IsZero reports whether nothing tells the cause.
func (c Cause) IsZero() bool { return c.Reason.IsZero() }

// maxClockDifference is how far the clocks of a server, of a node and of the API server may be apart: the times of a
// job are the server's, those of a container the kubelet's.
const maxClockDifference = time.Minute

// causeMessage is what a job, or one of its volumes, says about its end.
type causeMessage struct {
	text   string
	source string
	at     time.Time
	volume *job.Volume // nil for the job itself
	count  int
	// fallback is the reason that where the message stands shows, if its words show none.
	fallback Reason
}

// causeGroup are the messages with one cause.
type causeGroup struct {
	reason   Reason
	messages []causeMessage
	count    int
}

func (g *causeGroup) add(m causeMessage) {
	g.messages, g.count = append(g.messages, m), g.count+m.count
}

// partOf says how many of the failed volumes, or of the errors in the results, the group explains. The text is empty
// unless they are fewer than half, and the job itself says nothing.
func (g causeGroup) partOf(all causeGroup) string {
	n, total, noun := len(g.volumes()), len(all.volumes()), "failed volume"
	if first := g.messages[0]; first.volume == nil {
		if first.source != SourceStorage {
			return ""
		}
		n, total, noun = g.count, 0, "error"
		for _, m := range all.messages {
			if m.source == SourceStorage {
				total += m.count
			}
		}
	}
	if 2*n >= total {
		return ""
	}
	return human.PartOf(n, total, noun)
}

// volumes returns the volumes that say so.
func (g causeGroup) volumes() (all []*job.Volume) {
	for _, m := range g.messages {
		if m.volume != nil {
			all = append(all, m.volume)
		}
	}
	return all
}

// findCause returns why the job ended badly. Most messages decide: one object of a hundred may fail for a reason of
// its own. That something was cancelled or has ended is only a cause where nothing says why.
func (a *jobJudge) findCause() Cause {
	var groups []causeGroup
	all := causeGroup{}
	reasons := map[string]Reason{} // volumes that end together mostly say the same
	for _, m := range a.causeMessages() {
		reason, isClassified := reasons[m.text]
		if !isClassified {
			if reason = ClassifyMessage(m.text); reason.IsZero() {
				reason = m.fallback
			}
			reasons[m.text] = reason
		}
		i := slices.IndexFunc(groups, func(g causeGroup) bool { return g.reason == reason })
		if i < 0 {
			i, groups = len(groups), append(groups, causeGroup{reason: reason})
		}
		groups[i].add(m)
		all.add(m)
	}
	slices.SortStableFunc(groups, func(x, y causeGroup) int { return y.count - x.count })
	for _, isWeak := range []bool{false, true} {
		for _, g := range groups {
			if !g.reason.IsZero() && isWeakCause(g.reason) == isWeak {
				return a.buildCause(g, all)
			}
		}
	}
	known, c := len(a.facts), Cause{}
	if len(groups) > 0 { // nothing that was said is in the table
		c = a.explainMovers(c, groups[0].volumes())
	}
	c.Facts = slices.Clone(a.facts[known:])
	return c
}

// isWeakCause reports whether a reason is only a cause where nothing says more.
func isWeakCause(r Reason) bool { return r == VolumesCancelled || r == OperationFailed }

// NeedsEvidenceOfEnd reports which evidence may say more about the end of a job than its own messages: Velero's pods,
// or the storage locations.
func NeedsEvidenceOfEnd(j *job.Job) (pods, locations bool) {
	if !j.IsTerminal() {
		return false, false
	}
	a := &jobJudge{j: j, world: &World{}}
	for _, m := range a.causeMessages() {
		switch ClassifyMessage(m.text) {
		case ServerEnded, NodeAgentEnded:
			pods = true
		case LocationWasUnavailable:
			locations = true
		}
	}
	return pods, locations
}

// causeMessages returns what is said about the end: by the job, by its volumes, and by its results if they were read.
func (a *jobJudge) causeMessages() (all []causeMessage) {
	j, at := a.j, job.LatestTime(a.j.Completed, a.j.LastChanged)
	if j.FailureReason != "" {
		all = append(all, causeMessage{text: j.FailureReason, source: SourceWatch, at: at, count: 1})
	}
	for _, text := range j.ValidationErrors {
		all = append(all, causeMessage{text: text, source: SourceWatch, at: at, count: 1, fallback: SpecRefused})
	}
	for i := range j.Volumes {
		if v := &j.Volumes[i]; v.HasFailed() {
			all = append(all, causeMessage{text: v.Message, source: SourceWatch, at: v.LastChanged, volume: v, count: 1})
		}
	}
	for _, e := range a.jobEvidence().ResultErrors {
		all = append(all, causeMessage{text: e.Text, source: SourceStorage, at: at, count: e.Count})
	}
	return all
}

// buildCause returns the cause of a group among all messages.
func (a *jobJudge) buildCause(g, all causeGroup) Cause {
	known := len(a.facts)
	c := Cause{Reason: g.reason, Text: g.reason.Meaning()}
	first := g.messages[0]
	switch g.reason {
	case ServerEnded:
		c = a.explainServerEnd()
	case NodeAgentEnded:
		c = a.explainAgentEnd(g)
	case MoverNotReady, MoverNotScheduled, VolumesCancelled:
		c = a.explainMovers(c, g.volumes())
	case LocationWasUnavailable:
		c = a.explainLocation(c)
	case SpecRefused:
		c.Text = human.Shorten(first.text, maxReasonRunes) // Velero's own words say more
	}
	part := g.partOf(all)
	if part != "" {
		c.IsMinority, c.Text = true, part+": "+c.Text
	}
	for _, v := range g.messages {
		if v.volume != nil && a.Names.Node == "" {
			a.world.nameVolume(&a.Names, v.volume)
		}
	}
	if first.source == SourceStorage { // the messages of job and volumes are facts already
		text := countMessages(g.count)
		if part != "" {
			text = part + " in its results, such as"
		}
		a.AddSupport(first.source, first.at, "%s: %s", text, human.Shorten(first.text, 400))
	}
	c.Facts = slices.Clone(a.facts[known:])
	return c
}

func countMessages(n int) string {
	if n == 1 {
		return "an error of its results"
	}
	return human.Count(n, "error") + " of its results, such as"
}

// hasEndedDuring reports whether something ended in the life of a job or volume.
func hasEndedDuring(at, began, ended time.Time) bool {
	return !at.IsZero() && at.After(began.Add(-maxClockDifference)) && !at.After(ended.Add(maxClockDifference))
}

// explainServerEnd returns how the server ended that worked on the job. Velero only says that it found the job in
// progress when it started. Kubernetes keeps the last end of a container only (Kubernetes,
// pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses), so that of several ends in a row one is known.
func (a *jobJudge) explainServerEnd() Cause {
	j, server := a.j, a.world.Server
	began, ended := j.BeganAt(), job.LatestTime(j.Completed, j.BeganAt())
	var last *velero.PodEnd
	for i := range server.Ends {
		if e := &server.Ends[i]; hasEndedDuring(e.Time, began, ended) && (last == nil || e.Time.After(last.Time)) {
			last = e
		}
	}
	eviction := a.findServerEviction(began, ended)
	switch {
	case last != nil:
		a.AddSupport(SourcePod, last.Time, "%s", podEndText("the server's pod "+last.Pod, last))
		a.nameMemory(last)
		a.Names.ServerPod = "pod/" + last.Pod
		c := Cause{Reason: ServerEnded, Text: "the Velero server ended with " + endText(last)}
		hasLog := last.PodReason == "" && last.Reason != "OOMKilled"
		switch kindOfEnd(last) {
		case endedForMemory:
			c = Cause{Reason: ServerOutOfMemory, Text: "the Velero server was killed for memory" + memoryLimitText(last)}
		case endedByEviction:
			c = Cause{Reason: ServerEvicted, Text: "the node evicted the Velero server" + causeClause(last.Message)}
		case endedByShutdown:
			c = Cause{Reason: NodeShutDown, Text: "the node of the Velero server was shut down"}
		case endedByPanic:
			c = Cause{Reason: ServerPanicked, Text: "the Velero server panicked (exit code 2)"}
		}
		c.Text += afterText(a, last.Time, began)
		if hasLog {
			c = a.withFatalLine(c, last)
		}
		return c
	case eviction != nil:
		a.addPodEvent("the server's pod", eviction)
		return Cause{Reason: ServerEvicted, Text: evictionText("the Velero server", eviction) +
			afterText(a, eviction.Time, began)}
	case !server.Visible:
		a.AddDoubt(SourcePod, a.Now, "how the server ended was not seen: its pods may not be listed")
	case hasEndedDuring(server.Created, began, ended):
		a.AddSupport(SourcePod, server.Created, "the server's pod %s was created while the %s ran",
			server.Name, j.Kind.Noun())
		return Cause{Reason: ServerReplaced, Text: "another pod took the place of the Velero server" +
			afterText(a, server.Created, began)}
	case server.LastTerminationReason != "":
		a.AddDoubt(SourcePod, server.LastTerminationAt,
			"how the server ended then is not known any more; it restarted %s and last ended with %s",
			human.CountTimes(server.Restarts), server.LastTerminationReason)
	default:
		a.AddDoubt(SourcePod, server.SeenAt, "how the server ended then is not known any more")
	}
	return Cause{Reason: ServerEnded, Text: ServerEnded.Meaning()}
}

// afterText says how long after the job began something happened.
func afterText(a *jobJudge, at, began time.Time) string {
	if began.IsZero() || at.Before(began) {
		return ""
	}
	return " " + a.world.Style.Duration(at.Sub(began)) + " after the " + a.j.Kind.Noun() + " began"
}

// explainAgentEnd returns how the node-agent ended that moved the first volume of which anything is known.
func (a *jobJudge) explainAgentEnd(g causeGroup) Cause {
	nodes := []string(nil)
	for _, m := range g.messages {
		v := m.volume
		if v == nil {
			continue
		}
		if v.Node != "" && !slices.Contains(nodes, v.Node) {
			nodes = append(nodes, v.Node)
		}
		if e := a.findAgentEnd(v); e != nil {
			a.world.nameVolume(&a.Names, v)
			a.AddSupport(SourcePod, e.Time, "%s", podEndText("node-agent "+e.Pod+" on "+v.Node, e))
			a.nameMemory(e)
			agent := "the node-agent on " + v.Node
			switch kindOfEnd(e) {
			case endedForMemory:
				return Cause{Reason: NodeAgentOutOfMemory, Text: agent + " was killed for memory" + memoryLimitText(e)}
			case endedByEviction:
				return Cause{Reason: NodeAgentEvicted, Text: agent + " was evicted" + causeClause(e.Message)}
			case endedByShutdown:
				return Cause{Reason: NodeShutDown, Text: "node " + v.Node + " was shut down"}
			}
			return a.withFatalLine(Cause{Reason: NodeAgentEnded, Text: agent + " ended with " + endText(e)}, e)
		}
		if e := a.findAgentEviction(v); e != nil {
			a.world.nameVolume(&a.Names, v)
			a.addPodEvent("node-agent", e)
			return Cause{Reason: NodeAgentEvicted, Text: evictionText("the node-agent on "+v.Node, e)}
		}
	}
	if !a.world.Server.Visible {
		a.AddDoubt(SourcePod, a.Now, "how the node-agent ended was not seen: Velero's pods may not be listed")
	} else {
		a.AddDoubt(SourcePod, a.world.Server.SeenAt, "how the node-agent ended then is not known any more")
	}
	c := Cause{Reason: NodeAgentEnded, Text: NodeAgentEnded.Meaning()}
	if len(nodes) > 0 {
		c.Text = "the node-agent on " + human.JoinNames(nodes, 3) + " ended or was replaced while it moved " +
			human.Count(len(g.messages), "volume")
	}
	return c
}

func (a *jobJudge) findAgentEnd(v *job.Volume) *velero.PodEnd {
	ended := job.LatestTime(v.Completed, v.LastChanged)
	for i := range a.world.NodeAgents {
		agent := &a.world.NodeAgents[i]
		for k := range agent.Ends {
			if agent.Node == v.Node && v.Node != "" && hasEndedDuring(agent.Ends[k].Time, v.Created, ended) {
				return &agent.Ends[k]
			}
		}
	}
	return nil
}

// explainLocation makes the cause more precise while the storage location still says what is wrong.
func (a *jobJudge) explainLocation(c Cause) Cause {
	l := a.world.Locations[a.Names.Location]
	if l.Phase != velero.LocationUnavailable || l.Message == "" {
		return c
	}
	a.AddSupport(SourceWatch, l.LastValidated, "storage location %s is Unavailable%s", l.Name, causeClause(l.Message))
	if why := classifyStoreMessage(l.Message); !why.IsZero() {
		return Cause{Reason: why, Text: why.Meaning()}
	}
	return c
}

type endKind int

const (
	endedOtherwise endKind = iota
	endedForMemory
	endedByEviction
	endedByShutdown
	endedByPanic
)

// kindOfEnd tells how a container ended. A container runtime reports OOMKilled; a Go program that panics exits with 2
// (runtime.fatalpanic). The kubelet gives a whole pod a reason: Evicted (Kubernetes,
// pkg/kubelet/eviction/eviction_manager.go evictPod), Preempting (pkg/kubelet/preemption/preemption.go
// evictPodsToFreeRequests), Terminated at a shutdown of the node (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go
// killPods; Shutdown up to Kubernetes 1.21).
func kindOfEnd(e *velero.PodEnd) endKind {
	switch {
	case e.PodReason == "Evicted" || e.PodReason == "Preempting":
		return endedByEviction
	case e.PodReason == "Terminated" || e.PodReason == "Shutdown":
		return endedByShutdown
	case e.Reason == "OOMKilled":
		return endedForMemory
	case e.ExitCode == 2:
		return endedByPanic
	}
	return endedOtherwise
}

func memoryLimitText(e *velero.PodEnd) string {
	return human.InParens(human.Prefixed("limit ", e.MemoryLimit))
}

// endText returns the reason and the exit code of an end.
func endText(e *velero.PodEnd) string {
	return fmt.Sprintf("%s, exit code %d", e.ReasonText(), e.ExitCode) + human.InParens(signalText(e))
}

// signalText says which signal ended a container, empty for none: a shell's exit code is then 128 and the signal's
// number, and container runtimes report it so. With the reason OOMKilled, or ContainerStatusUnknown of a kubelet that
// does not find a container, 137 says nothing more (Kubernetes, pkg/kubelet/kubelet_pods.go
// convertToAPIContainerStatuses).
func signalText(e *velero.PodEnd) string {
	switch {
	case e.Reason != "Error": // the reason says more
		return ""
	case e.ExitCode == 137:
		return "killed with SIGKILL"
	case e.ExitCode == 143:
		return "asked to end with SIGTERM"
	}
	return ""
}

func podEndText(who string, e *velero.PodEnd) string {
	if kind := kindOfEnd(e); kind == endedByEviction || kind == endedByShutdown {
		return who + " was ended by its node (" + e.PodReason + ")" + causeClause(e.Message)
	}
	limit := human.Prefixed("; its memory limit is ", e.MemoryLimit)
	return who + " ended with " + endText(e) + limit + causeClause(strings.TrimSpace(e.Message))
}

// nameMemory adds the memory limit that is twice the former one, and the container that has it.
func (a *jobJudge) nameMemory(e *velero.PodEnd) {
	a.Names.Memory, a.Names.Container = e.DoubledMemory(), e.Container
}
