// Command velero is Velero's own command, server and CLI, for the end-to-end
// tests. It differs from the released binary in one point: the server's second
// metrics listener (controller-runtime's), which has no flag and would open
// port 8080 on every interface, is switched off.
package main

import (
	"os"
	"path/filepath"

	"github.com/vmware-tanzu/velero/pkg/cmd"
	"github.com/vmware-tanzu/velero/pkg/cmd/velero"
	"k8s.io/klog/v2"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	metricsserver.DefaultBindAddress = "0"

	err := velero.NewCommand(filepath.Base(os.Args[0])).Execute()
	klog.Flush()
	cmd.CheckError(err)
}
