package finalize

import "github.com/veltui/veltui/kubectl"

// kubectlCommand is a kubectl command that leads to the cluster of a request.
func kubectlCommand(r Request, namespace string, args ...string) string {
	return r.reach().Kubectl(namespace, args...)
}

// Veltui is a veltui command about the way's job.
func (w *Way) Veltui(args ...string) string { return w.request.reach().Veltui(w.Namespace, args...) }

func (r Request) reach() kubectl.Reach {
	return kubectl.Reach{Context: r.Context, Flags: r.Flags, Environment: r.Environment}
}
