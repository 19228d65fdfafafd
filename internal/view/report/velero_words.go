package report

import (
	"regexp"
	"strings"

	"github.com/veltui/veltui/internal/velero"
)

// Objects may have any name, such as password, token or data, and what stands behind a name is Velero's: a phase, an
// error, a sentence. Before the rules run, protectMessages marks what is no value of a credential: what begins with a
// word with which messages of Velero, of Kubernetes and of Go begin, and what follows the name of an object.

// phases are all phases and words of state that follow a name in a message.
var phases = []string{
	velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart, velero.PhaseFailedValidation, velero.PhaseInProgress,
	velero.PhaseWaitingForPluginOperations, velero.PhaseWaitingForPluginOperationsPartiallyFailed, velero.PhaseFinalizing,
	velero.PhaseFinalizingPartiallyFailed, velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed,
	velero.PhaseDeleting, velero.VolumeAccepted, velero.VolumePrepared, velero.VolumeCanceling, velero.VolumeCanceled,
	velero.LocationAvailable, velero.LocationUnavailable, velero.DeletionProcessed,
	"Pending", "Bound", "Lost", "Released", "Terminating", "Running", "Succeeded", "Unknown", "Unschedulable", "Evicted",
	"OOMKilled", "Error", "Cancelled", "Ready", "NotReady", "Enabled", "Paused",
}

// firstWords are words with which messages begin (errors and log lines of Velero 1.18, its plugins, Kubernetes' API
// errors, Go's net and os packages). The case of the first letter does not matter.
var firstWords = strings.Fields(`
	accept access accepting action add adding after all already ambiguous api applying async
	asynchronous attempting attempt aws azure backed backing backup bad bind block blob both broken
	bucket bsl bulk can't cancel cancelled canceled cancelling canceling cannot checking cleaning client
	close closing collected collecting command complete completed completing concurrent config conflict
	connect connection container context continue copied copying could couldn't created creating
	cancelling csi custom data dataupload datadownload deleted deleting deletion deletionTimestamp
	denied dequeueing dial didn't directory disk does download downloading dynamic dynamically either
	empty enqueue eof error errors excluded excluding exec execute executing exceeded existing exit
	expected expose exposed exposing fail failed failing failure fetching file filesystem finalizing
	find finish finished finishing flush forbidden found founding gcs generic get getting global got has
	hook host i/o ignore ignoring in including incompatible initializing init initialize internal
	invoking is item its item's kopia label list listing lookup lost maintenance marking mark mkdir
	missing mover moving multiple must name namespace need needs network new no node node-agent none
	nothing not object open opening operation operations out owned panic parse parsing patch patched
	patching path performing permission persistent plugin pod pods podvolumebackup podvolumerestore
	prepared preparing priority processing prune pruning pv pvb pvc pvr query quick read reading
	received reconcile reconciling refresh refused removed removing repo repository request requests
	requested reset resetting resolve resolving resource restic restore restored restoring resume
	resuming retrieved retry retrying returned returning reusing rpc run running search searching
	selected server set setting should skip skipped skipping snapshot snapshots some spec stale start
	started starting stat still stopped stopping storage store successfully succeeded target terminated
	the there this timed timeout tls too trying unable unavailable unauthorized undefined unexpected
	unknown unmarshal unschedulable unsupported unusual update updated updating upload uploading use
	using validated validating validation velero volume volumes volumesnapshot volumesnapshotcontent
	wait waiting waits want warning wildcard with write writing wrong x509 zero
`)

// messageStart matches a colon and the first word of a message behind it. That is a whole phase, or a word with more
// text.
var messageStart = regexp.MustCompile(
	`:(\s+(?:(?:` + strings.Join(phases, "|") + `)(?:[\s:,;.)"']|$)|` +
		`(?i:` + strings.Join(firstWords, "|") + `)(?:: | [A-Za-z"'(\[/]|: ?$)))`,
)

// objectReference matches what names an object: NAMESPACE/NAME, or a name behind its kind. The name is a group.
var objectReference = regexp.MustCompile(
	`(?:(?:^|[\s"'(\[,])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?/|` +
		`\b(?:(?:PVC|PV|pvc|pv|claim|volume|pod|namespace|persistentvolumeclaims?|persistentvolumes?|` +
		`[Dd]ata[Uu]pload|[Dd]ata[Dd]ownload|PodVolumeBackup|PodVolumeRestore)(?:: "?|=| "?|/)(?:[a-z0-9-]+/)?|` +
		`, name=|name: /))([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)`,
)

// sentence matches a colon and at least two words behind it.
var sentence = regexp.MustCompile(`^:\s+([A-Za-z][A-Za-z'-]*)(?:[,:]?\s+["'(]?[A-Za-z]|:)`)

// protectMessages marks the messages and names of objects in a text, so that no rule takes them for credentials.
func protectMessages(text string) string {
	text = messageStart.ReplaceAllString(text, ":"+keepMark+"${1}")
	var b strings.Builder
	at := 0
	for _, m := range objectReference.FindAllStringSubmatchIndex(text, -1) {
		tail := text[m[3]:]
		if m[3] < at || tail != "" && strings.IndexByte(" ,;:.)\"\n", tail[0]) < 0 {
			continue
		}
		if strings.HasPrefix(tail, ":") && !strings.HasPrefix(tail, ":"+keepMark) && !sentence.MatchString(tail) {
			continue
		}
		b.WriteString(text[at:m[3]] + keepMark)
		at = m[3]
	}
	return b.String() + text[at:]
}
