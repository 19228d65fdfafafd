package inspect

import (
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/velero"
)

// Tagged is a Velero server with that image tag.
func Tagged(tag string) collector.Server {
	v, _ := velero.ParseVersion(tag) // else zero: Estimate says that it is not known
	return collector.Server{Version: v, Tag: tag}
}

// ServerOf is the cluster's Velero server, with what its flags decide.
func ServerOf(s velero.Server) collector.Server {
	server := Tagged(s.Version)
	// Velero does not start with a value that cannot be parsed.
	if p, err := collector.ParsePriorities(s.Flags.RestorePriorities); err == nil && s.Flags.RestorePriorities != "" {
		server.Priorities = &p
	}
	// Before 1.14 the actions are a plugin's, which runs without the feature flag.
	if s.Running && (server.Version == [3]int{} || server.Version[0] > 1 || server.Version[1] >= 14) {
		csi := slices.Contains(s.Flags.Features, velerov1.CSIFeatureFlag)
		server.CSI = &csi
	}
	return server
}
