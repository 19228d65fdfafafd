package job

import (
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
)

// prepareFlag bounds the phase Accepted of every volume kind.
const prepareFlag = "--data-mover-prepare-timeout"

// PrepareTimeout is the --data-mover-prepare-timeout that a node-agent's
// arguments give, zero if they give none (pkg/cmd/cli/nodeagent/server.go).
func PrepareTimeout(p *corev1.Pod) time.Duration {
	for _, c := range p.Spec.Containers {
		words := slices.Concat(c.Command, c.Args)
		for i, w := range words {
			name, value, given := strings.Cut(w, "=")
			if name != prepareFlag {
				continue
			}
			if !given && i+1 < len(words) {
				value = words[i+1]
			}
			if d, err := time.ParseDuration(value); err == nil && d > 0 {
				return d
			}
		}
	}
	return 0
}

// moverLabels are the labels of the pods that move volumes
// (pkg/apis/velero/v1/labels_annotations.go).
var moverLabels = map[string]VolumeKind{
	velerov1.DataUploadLabel: DataUpload, velerov1.DataDownloadLabel: DataDownload,
	velerov1.PVBLabel: PodVolumeBackup, velerov1.PVRLabel: PodVolumeRestore,
}

// MoverOf is the volume that a pod moves. Its owner names it in full; the label
// may be shortened (pkg/exposer, pkg/label GetValidName).
func MoverOf(p *corev1.Pod) (VolumeRef, bool) {
	for label, kind := range moverLabels {
		name, labelled := p.Labels[label]
		if !labelled {
			continue
		}
		for _, o := range p.OwnerReferences {
			if o.Kind == string(kind) {
				return VolumeRef{kind, o.Name}, true
			}
		}
		return VolumeRef{kind, name}, true
	}
	return VolumeRef{}, false
}
