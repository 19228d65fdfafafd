package velero

import (
	"crypto/sha3"
	"encoding/hex"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// repositoryNameLabel is the label of the pods that maintain a repository: its name, or a hash of a name that is too
// long (pkg/repository/maintenance/maintenance.go RepositoryNameLabel, pkg/label/label.go
// ReturnNameOrHash; since 1.14).
const repositoryNameLabel = "velero.io/repo-name"

// MaintenancePod is a pod that has maintained a repository and has ended.
type MaintenancePod struct {
	Name string
	// Created is when the pod was created, in the API server's clock.
	Created   time.Time
	HasFailed bool
	// Reason is why it failed, as Kubernetes names it, such as OOMKilled.
	Reason, Message string
}

// IsMaintenance reports whether a pod maintains a backup repository.
func IsMaintenance(p *corev1.Pod) bool { return p.Labels[repositoryNameLabel] != "" }

// FindMaintenancePods returns the ended pods that maintained repositories, by their label, newest first.
func FindMaintenancePods(pods []*corev1.Pod) map[string][]MaintenancePod {
	found := map[string][]MaintenancePod{}
	for _, p := range pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !IsMaintenance(p) || !ended {
			continue
		}
		m := MaintenancePod{Name: p.Name, Created: p.CreationTimestamp.Time, HasFailed: p.Status.Phase == corev1.PodFailed}
		if state := ReadPodState(p); m.HasFailed {
			if m.Reason, m.Message = state.Reason, state.Message; m.Reason == "" { // not evicted
				m.Reason, m.Message = containerFailure(state.Containers)
			}
		}
		name := p.Labels[repositoryNameLabel]
		found[name] = append(found[name], m)
	}
	for _, of := range found {
		slices.SortFunc(of, func(a, b MaintenancePod) int { return b.Created.Compare(a.Created) })
	}
	return found
}

// MaintenancePodsOf returns those of a repository. Velero writes a long name as a hash (pkg/label/label.go
// ReturnNameOrHash), and older versions cut it (GetValidName).
func MaintenancePodsOf(all map[string][]MaintenancePod, repository string) []MaintenancePod {
	if len(repository) <= MaxLabelLength {
		return all[repository]
	}
	hash := sha3.Sum224([]byte(repository))
	if found := all[hex.EncodeToString(hash[:])]; found != nil {
		return found
	}
	return all[veleroapi.ValidLabel(repository)]
}
