package action

import "github.com/veltui/veltui/kubectl"

// kubectlCommand is a kubectl command that leads to the cluster of a request.
func kubectlCommand(r Request, namespace string, args ...string) string {
	return r.reach().Kubectl(namespace, args...)
}

// Veltui is a veltui command about the plan's job.
func (p *Plan) Veltui(args ...string) string { return p.request.reach().Veltui(p.Namespace, args...) }

func (r Request) reach() kubectl.Reach {
	return kubectl.Reach{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}
