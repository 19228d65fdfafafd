package action

import (
	"fmt"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// restartNodeAgentAction advises restarting the node-agent of one node.
type restartNodeAgentAction struct{ baseAction }

func (restartNodeAgentAction) actionKind() Kind { return RestartNodeAgent }

// fillPlan advises a restart if the pod that moved a volume has succeeded, but the node-agent did not notice. At its
// start the node-agent checks each volume in progress on its node and picks up what its pod has done (since 1.15 for
// data uploads and downloads, since 1.17 for pod volumes; AttemptDataUploadResume in data_upload_controller.go and
// its siblings).
func (restartNodeAgentAction) fillPlan(e *Evidence, w *Plan) bool {
	v, known := e.serverVersion()
	if !known || e.Job.Deleting {
		return false
	}
	c := e.buildVolumeContext()
	var lost []job.Volume
	var nodes []string
	for _, m := range e.unendedVolumes() {
		if !m.CancelRequested && e.hasAgent(m.Node) && v.MovesInPods(m.Kind) && c.HasAgentLostTrack(&m) {
			lost = append(lost, m)
			if !slices.Contains(nodes, m.Node) {
				nodes = append(nodes, m.Node)
			}
		}
	}
	if len(lost) == 0 {
		return false
	}
	slices.Sort(nodes)
	w.Title = "restart the node-agent on " + human.JoinNames(nodes, 3)
	w.EvidenceText = fmt.Sprintf(
		"the pods of %s have succeeded, but the node-agent has not noticed: %s",
		volumeCountsText(lost),
		volumeNamesText(lost),
	)
	w.Will = []string{"let the node-agent pick up the finished work"}
	w.WillNot = []string{"cancel anything: the new node-agent takes over the other volumes in progress on the node"}
	if !v.MovesInPods(velero.PodVolumeBackup) {
		w.WillNot = []string{"keep pod volumes in progress on the node: Velero " + v.String() + " marks those Failed"}
	}
	w.Afterwards = []string{"Velero continues with the " + e.Job.Kind.Noun()}
	for _, node := range nodes {
		w.Commands = append(
			w.Commands,
			w.request.ClusterAccess().
				KubectlCommand(w.Namespace, "delete", "pod", "-l", "role=node-agent", "--field-selector", "spec.nodeName="+node),
		)
	}
	w.Refusal, w.Advice = "restarting is up to you: veltui only shows the command", "Run the command."
	return true
}
