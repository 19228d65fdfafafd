package finalize

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
)

// WayAction is what a Way does.
type WayAction string

// The actions.
const (
	// Wake touches the job, so that Velero looks at it again.
	Wake WayAction = "wake"
	// CancelVolumes asks for an end of data movement that stands still.
	CancelVolumes WayAction = "cancel-volumes"
	// Restart is a restart of Velero's server, which veltui never does itself.
	Restart WayAction = "restart"
	// RestartNodeAgent is a restart of one node's node-agent, which veltui never
	// does itself.
	RestartNodeAgent WayAction = "restart-node-agent"
)

// Way is a way out for a job that does not move other than writing its phase:
// safer than that, because Velero itself then does what is left. [Ways] finds
// them and [Finalizer.Take] takes them.
type Way struct {
	Action WayAction

	Kind      job.Kind
	Namespace string
	Name      string
	UID       types.UID
	// Phase is the job's phase as it was seen.
	Phase string

	// Title is what it does, in a few words.
	Title string
	// Why is what the evidence tells, in one sentence.
	Why string
	// Will, WillNot and Then say in plain words what it does, what it leaves
	// as it is, and what follows from it.
	Will    []string
	WillNot []string
	Then    []string
	// Commands are the equivalent kubectl commands, quoted for a POSIX shell.
	// There are none for what should not be done at all.
	Commands []string
	// Volumes are the volumes that are cancelled.
	Volumes []job.Volume
	// Fails are the jobs in progress, as KIND/NAME, that a restart would mark
	// Failed; the job itself is among them if it is in progress.
	Fails []string

	// Refusal is why veltui does not take it, empty if it can; Advice is what
	// would help then.
	Refusal string
	Advice  string

	request  Request
	evidence Evidence
	// targets are the resources that are patched.
	targets []*unstructured.Unstructured
}

// CanTake reports whether veltui can take the way itself.
func (w *Way) CanTake() bool { return w.Refusal == "" && len(w.targets) > 0 }

// Same reports whether taking either way writes the same, over the same.
func (w *Way) Same(v *Way) bool {
	return w.Action == v.Action && w.Kind == v.Kind && w.Namespace == v.Namespace && w.Name == v.Name && w.UID == v.UID &&
		w.Refusal == v.Refusal &&
		slices.EqualFunc(w.targets, v.targets, func(a, b *unstructured.Unstructured) bool {
			return a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
		})
}

// Evidence is what the way stands on.
func (w *Way) Evidence() Evidence { return w.evidence }
