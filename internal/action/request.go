package action

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/kubectl"
)

// Request is what a person asks for.
type Request struct {
	Phase           string // the wanted phase; empty leaves the choice to the evidence
	Reason          string // written into the resource and the log; empty means the evidence's
	Volume          string // of CancelVolumes: the only one to cancel, as NAME or KIND/NAME; empty for all that qualify
	SkipImmediately bool   // of Unpause: skip a run that is due
	// AllowOtherCluster lets DeleteBackup delete a backup that this cluster may not have made.
	AllowOtherCluster bool
	// AllowLastCopy lets DeleteBackup delete the last completed backup of a schedule, or of namespaces.
	AllowLastCopy bool
	// MarkedBackups names the backups that are deleted along with the backup of DeleteBackup: none of them counts as a
	// copy of it.
	MarkedBackups   []string
	Consequences    []string  // of Create: what else is known about its effects
	NameGenerated   bool      // of Create: the name is generated, and ends with the time
	EarlierAttempts []Attempt // settled attempts that have written, or may have
	// PolicyConfigMap is the ConfigMap with the resource policy of a restore, which Create makes before the restore; nil
	// for none.
	PolicyConfigMap *unstructured.Unstructured
	// VeleroCommand is the velero command that does the same; set to create a restore, where the plan cannot tell it.
	VeleroCommand []string
	// Refusal says why the request is refused, whatever the evidence says, and Advice what would help; empty if it may
	// be possible.
	Refusal, Advice string
	// Context, Flags and Environment are what kubectl commands need to reach the same cluster.
	Context     string
	Flags       []string // such as --kubeconfig and --as
	Environment []string // as NAME=value
}

// Kind is the name of an action. Flags, JSON and the audit log use it.
type Kind string

func (r Request) ClusterAccess() kubectl.ClusterAccess {
	return kubectl.ClusterAccess{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}

const (
	Finalize      Kind = "finalize"       // writes the phase in which the job should be
	Wake          Kind = "wake"           // touches the job, so that Velero looks at it again
	CancelVolumes Kind = "cancel-volumes" // ends data movement that no longer moves
	Create        Kind = "create"         // makes a backup or restore
	Pause         Kind = "pause"          // stops a schedule from making backups
	Unpause       Kind = "unpause"        // lets a schedule make backups again
	DeleteBackup  Kind = "delete-backup"  // has Velero delete a backup and what is stored of it
	DeleteRestore Kind = "delete-restore" // deletes a restore, not what it restored
	// veltui only advises these actions.
	Restart          Kind = "restart"            // restarts the server
	RestartNodeAgent Kind = "restart-node-agent" // restarts the node-agent of one node
	FixField         Kind = "fix-field"          // corrects a field that Velero cannot read
)
