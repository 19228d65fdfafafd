package cluster

// Capability is a part of what can be asked of a cluster.
type Capability string

// The parts of a [Cluster] that may be unavailable.
const (
	CapabilityContents     Capability = "Contents"
	CapabilityStored       Capability = "Stored"
	CapabilityItems        Capability = "Items"
	CapabilityObjects      Capability = "Objects"
	CapabilityLogs         Capability = "Logs"
	CapabilityProblems     Capability = "Problems"
	CapabilityCloserLooks  Capability = "Looks"
	CapabilityVerification Capability = "Verification"
	CapabilityComparison   Capability = "Comparison" // of contents; also what veltui verifies unasked
	CapabilityReports      Capability = "Reports"
	CapabilityPreviews     Capability = "Previews"
	CapabilityChanges      Capability = "Changes"
)

// UnavailableReason returns why a capability is unavailable, or an empty string.
func (c *Cluster) UnavailableReason(p Capability) string {
	switch {
	case p == CapabilityChanges && c.ReadOnly:
		return "read-only: nothing may be changed"
	case p == CapabilityComparison && c.ReadOnly:
		return ErrNoDownload.Error()
	case c.NoArtifacts &&
		(p == CapabilityContents || p == CapabilityStored || p == CapabilityItems || p == CapabilityComparison):
		return "With --no-artifacts veltui does not read what Velero has stored."
	}
	return ""
}
