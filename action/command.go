package action

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/kubectl"
)

// qualified is the resource of a kind, of jobs or of volumes, with its group, so
// that kubectl takes no other for it.
func qualified(kind interface{ Resource() string }) string {
	return kind.Resource() + "." + velerov1.SchemeGroupVersion.Group
}

// kubectlCommand is a kubectl command that leads to the cluster of a request.
func kubectlCommand(r Request, namespace string, args ...string) string {
	return r.Reach().Kubectl(namespace, args...)
}

// Veltui is a veltui command about the plan's job.
func (p *Plan) Veltui(args ...string) string { return p.request.Reach().Veltui(p.Namespace, args...) }

// Reach is how a command gets to the same cluster.
func (r Request) Reach() kubectl.Reach {
	return kubectl.Reach{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}
