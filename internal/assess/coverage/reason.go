package coverage

// Reason is why something is not covered, or not surely. The names are API.
type Reason string

// The rules by which a schedule's next backup leaves something out.
const (
	NoSchedule           Reason = "NoSchedule"           // there is no schedule
	SchedulePaused       Reason = "SchedulePaused"       // the schedule is paused
	ScheduleInvalid      Reason = "ScheduleInvalid"      // Velero makes no backups of the schedule
	BackupsRefused       Reason = "BackupsRefused"       // Velero refuses each backup of the schedule
	NamespaceNotIncluded Reason = "NamespaceNotIncluded" // includedNamespaces does not name the namespace
	NamespaceExcluded    Reason = "NamespaceExcluded"    // excludedNamespaces names the namespace
	NamespaceLabelled    Reason = "NamespaceLabelled"    // the namespace has the label velero.io/exclude-from-backup
	NamespaceTerminating Reason = "NamespaceTerminating" // the namespace is being deleted
	KindExcluded         Reason = "KindExcluded"         // the schedule's filters of resources leave the kind out
	LabelExcluded        Reason = "LabelExcluded"        // the object has the label velero.io/exclude-from-backup
	SelectorMismatch     Reason = "SelectorMismatch"     // the label selectors do not select the object
	PolicyFilter         Reason = "PolicyFilter"         // a filter of the resource policy leaves the object out
	BeingDeleted         Reason = "BeingDeleted"         // the object is being deleted
	PolicySkips          Reason = "PolicySkips"          // a volume policy skips the volume
	PolicyCustom         Reason = "PolicyCustom"         // a volume policy leaves the volume to a plugin
	// SnapshotsOff: spec.snapshotVolumes is false, and nothing asks for a file system backup
	SnapshotsOff Reason = "SnapshotsOff"
	// the volume cannot be snapshotted, and no annotation of a pod names it
	NotOptedIn Reason = "NotOptedIn"
	OptedOut   Reason = "OptedOut" // an annotation of the pod excludes the volume
	// a file system backup needs a pod whose container mounts the volume
	NotMounted       Reason = "NotMounted"
	PodNotTaken      Reason = "PodNotTaken"      // the backup leaves out the pod whose volume it is
	PodNotRunning    Reason = "PodNotRunning"    // the pod does not run, so its volumes are not read
	NoNodeAgent      Reason = "NoNodeAgent"      // no node-agent runs where the volume would be read
	HostPath         Reason = "HostPath"         // Velero does not back up hostPath volumes
	BlockVolume      Reason = "BlockVolume"      // a file system backup cannot read a block volume
	NotBound         Reason = "NotBound"         // the claim has no volume
	VolumeMissing    Reason = "VolumeMissing"    // the claim's volume does not exist
	NotSnapshottable Reason = "NotSnapshottable" // no CSI driver and no snapshot location serve the volume
	CSIOff           Reason = "CSIOff"           // the server runs without the feature EnableCSI
	NoStorageClass   Reason = "NoStorageClass"   // the claim's storage class is not named or does not exist
	NoSnapshotClass  Reason = "NoSnapshotClass"  // there is no VolumeSnapshotClass for the driver
)

// What backups tell, and what cannot be decided.
const (
	NotInBackup   Reason = "NotInBackup"   // no backup holds it, although a schedule takes it
	NotYet        Reason = "NotYet"        // it is newer than the last run of the schedule that takes it
	Recreated     Reason = "Recreated"     // backups hold an earlier object of its name, or an earlier volume
	NoData        Reason = "NoData"        // backups list the claim, without its data
	VolumeFailed  Reason = "VolumeFailed"  // the newest backup of it failed to save its data
	VolumeSkipped Reason = "VolumeSkipped" // the newest backup of it skipped its data
	ItemFailed    Reason = "ItemFailed"    // the newest backup that lists it failed to store it
	BackupFailed  Reason = "BackupFailed"  // the newest backup of its namespace failed
	// the newest backup of its namespace is being deleted, that is requested, or it is not there any more
	BackupDeleted Reason = "BackupDeleted"
	// the newest backup of its namespace has expired, and Velero deletes it
	BackupExpired Reason = "BackupExpired"
	// the storage location of the newest backup of its namespace does not exist
	LocationGone Reason = "LocationGone"
	// the storage location of the newest backup of its namespace is not available
	LocationUnavailable Reason = "LocationUnavailable"
	TooOld              Reason = "TooOld" // the newest copy is older than the target
	// the last copy expires before the next run of the schedule that takes it
	ExpiresFirst    Reason = "ExpiresFirst"
	MadeDuring      Reason = "MadeDuring"      // it was made while the backup ran that lists its name
	NotRead         Reason = "NotRead"         // backups that could hold it were not read
	NotSeen         Reason = "NotSeen"         // what would decide it may not be read
	ServerUnknown   Reason = "ServerUnknown"   // it depends on flags of the server, which is not seen
	PluginDecides   Reason = "PluginDecides"   // it depends on the plugin of a volume snapshot location
	OldVolumeRecord Reason = "OldVolumeRecord" // a backup lists the claim, and keeps no record of its volume
)

// IsMinor reports whether nothing that was there for a run is at risk: it is new, or holds no data.
func (r Reason) IsMinor() bool { return r == NotYet || r == NotBound }

// Inclusion is whether a backup takes something. The names are API.
type Inclusion string

// The answers. Unknown stands for what cannot be decided.
const (
	Yes     Inclusion = "yes"
	No      Inclusion = "no"
	Unknown Inclusion = "unknown"
)

// Verdict is whether the next backup of a schedule takes something. Without Yes, Reason and Why say the rule.
type Verdict struct {
	Answer        Inclusion
	Reason        Reason
	ReasonText    string // a clause
	canBePulledIn bool   // another item can still bring it in: only the collection leaves it out
}

var includedVerdict = Verdict{Answer: Yes}

func excludedVerdict(reason Reason, why string) Verdict {
	return Verdict{Answer: No, Reason: reason, ReasonText: why}
}

func unknownVerdict(reason Reason, why string) Verdict {
	return Verdict{Answer: Unknown, Reason: reason, ReasonText: why}
}
