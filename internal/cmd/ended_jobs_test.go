package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// Why a job ended is read where nothing at hand says it, by each command that tells: from the last lines of a container
// that was restarted, and from the events of a pod that is gone.
func TestWhyJobsEnded(t *testing.T) {
	control(t)
	h := startHeadless(t, "--scene", filepath.Join("testdata", "ended-jobs.yaml"))
	const panicked = "panic: runtime error: invalid memory address or nil pointer dereference in " +
		"github.com/vmware-tanzu/velero/internal/resourcemodifiers.(*ResourceModifiers).Apply"
	const evicted = "the node evicted a pod that moved a volume: Pod ephemeral local storage usage exceeds the total limit"
	for command, says := range map[string][]string{
		"explain restore/mongo": {panicked, "logs deployment/velero --previous --tail=200"},
		"results restore/mongo": {panicked, "(ServerPanicked)"},
		"wait restore/mongo":    {panicked},
		"explain backup/gone":   {evicted, "(events, ", "describe node w-1"},
		"results backup/gone":   {strings.Replace(evicted, "the node", "The node", 1), "(MoverEvicted)", "describe node w-1"},
		"wait backup/gone":      {evicted},
	} {
		stdout, stderr, _ := h.run(t, strings.Fields(command)...)
		if !holdsAll(stdout, says...) {
			t.Errorf("%s lacks one of %q:\n%s%s", command, says, stdout, stderr)
		}
	}
}
