package results

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// TestOperationErrors holds that errors which Velero counts and does not store are told: from the operations with their
// volumes, or from the volumes alone, and that the rest has a place where to look.
func TestOperationErrors(t *testing.T) {
	const expose = "found a dataupload velero/a with expose error: Pod is unschedulable"
	volumes := []job.Volume{
		{Kind: velero.DataUpload, Phase: velero.VolumeCompleted, OperationID: "du-0", Namespace: "shop", Claim: "a"},
		{Kind: velero.DataUpload, Phase: velero.VolumeCanceled, OperationID: "du-1", Namespace: "shop", Claim: "b", Message: expose},
		{Kind: velero.DataUpload, Phase: velero.VolumeCanceled, Namespace: "shop", Claim: "c", Message: expose},
		{Kind: velero.PodVolumeBackup, Phase: velero.VolumeFailed, Namespace: "shop", Claim: "d", Message: "in the results"},
	}
	operation := func(id, name, phase, err string) artifact.Operation {
		return artifact.Operation{
			ID: id, Resource: "persistentvolumeclaims", Namespace: "shop", Name: name, Phase: phase, Error: err,
		}
	}
	operations := []artifact.Operation{
		operation("du-0", "a", velero.OperationCompleted, ""),
		operation("du-1", "b", velero.OperationFailed, "DataUpload is canceled"),
		operation("du-2", "c", velero.OperationFailed, "DataUpload is canceled"),
	}
	stored := GroupMessages(artifact.Results{
		Errors:   artifact.Messages{Velero: []string{"no"}},
		Warnings: artifact.Messages{Cluster: []string{"hm"}},
	})
	const sentence = "Velero counts the errors of item operations and stores them with the operations, not with the results."
	for name, c := range map[string]struct {
		errors     int
		volumes    []job.Volume
		operations []artifact.Operation
		want       string
	}{
		"operations and volumes": {3, volumes, operations,
			"1x no |\n2x DataUpload is canceled: " + expose + " | persistentvolumeclaims/shop/b, c\n1x hm |\n" + sentence},
		"operations alone": {3, nil, operations,
			"1x no |\n2x DataUpload is canceled | persistentvolumeclaims/shop/b, c\n1x hm |\n" + sentence},
		"volumes alone": {3, volumes, nil,
			"1x no |\n2x Canceled: " + expose + " | persistentvolumeclaims/shop/b, c\n1x hm |\n" + sentence},
		"some are not known": {4, volumes, nil,
			"1x no |\n2x Canceled: " + expose + " | persistentvolumeclaims/shop/b, c\n1x hm |\nThe status counts 4 errors and 1 warning. " +
				sentence + " What the results do not have is in Velero's log: veltui logs backup/n --level error."},
		"nothing at hand": {3, nil, nil,
			"1x no |\n1x hm |\nThe status counts 3 errors and 1 warning. 2 of 3 item operations failed. " +
				sentence + " What the results do not have is in Velero's log: veltui logs backup/n --level error."},
		"all are stored": {1, volumes, operations, "1x no |\n1x hm |\n"},
	} {
		j := &job.Job{
			Kind: job.Backup, Name: "n", Phase: velero.PhasePartiallyFailed, Stage: job.StageDone,
			Errors: c.errors, Warnings: 1, Volumes: c.volumes,
			Operations: job.Operations{Attempted: 3, Completed: 1, Failed: 2},
		}
		sections := AddOperationErrors(j, stored, c.operations)
		var lines []string
		for _, s := range sections {
			for _, m := range s.Messages {
				names, _ := m.ListInstances(-1)
				lines = append(lines, strings.TrimRight(fmt.Sprintf("%dx %s | %s", m.Count, m.Text, names), " "))
			}
		}
		lines = append(lines, CountCaveat(j, sections))
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
