package coverage

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// Record is what is stored of one backup: names and states, no contents.
type Record struct {
	// Items are the judged items, and the volumes, by resource, as NAMESPACE/NAME, or NAME without a namespace. The
	// namespaces are all those of which the backup holds anything.
	Items map[string][]string
	// Saved is what became of the data of claims, by NAMESPACE/NAME. Of several records of one claim, a record with data
	// counts.
	Saved map[string]SavedData
	// Failed are those of Items that Velero lists but failed to store, by RESOURCE KEY, with the reasons.
	Failed map[string]string
	// NoVolumes is true for a backup of a Velero that keeps no record of volumes.
	NoVolumes bool
}

// SavedData is what became of a claim's data in a backup, and the volume that held it.
type SavedData struct {
	PV string
	Verdict
}

// NewRecord reads what Velero stored of a backup. noVolumes is true if it stored no record of volumes.
func NewRecord(list []artifact.KindItems, volumes []artifact.VolumeInfo, noVolumes bool) *Record {
	r := &Record{
		Items:     map[string][]string{},
		Saved:     map[string]SavedData{},
		Failed:    map[string]string{},
		NoVolumes: noVolumes,
	}
	for _, k := range list {
		resource := findResource(k.Kind)
		for _, i := range k.Items {
			if i.Namespace != "" {
				r.Items[Namespaces] = append(r.Items[Namespaces], i.Namespace)
			}
			if resource != "" {
				r.Items[resource] = append(r.Items[resource], human.Namespaced(i.Namespace, i.Name))
			}
		}
	}
	slices.Sort(r.Items[Namespaces])
	r.Items[Namespaces] = slices.Compact(r.Items[Namespaces])
	for i := range volumes {
		v := &volumes[i]
		key := v.Namespace + "/" + v.Claim
		if v.Claim != "" && r.Saved[key].Answer != Yes {
			r.Saved[key] = SavedData{v.PersistentVolume, savedVerdict(v)}
		}
	}
	return r
}

// IsWantedKind reports whether a record keeps the items of a kind in Velero's lists.
func IsWantedKind(listed string) bool { return findResource(listed) != "" }

// findResource returns the resource of a kind in Velero's lists, group/version/Kind or version/Kind; empty for a kind
// that is not needed.
func findResource(listed string) string {
	kind := path.Base(listed)
	version, _ := schema.ParseGroupVersion(path.Dir(listed))
	if listed == "v1/PersistentVolume" {
		return Volumes
	}
	for resource := range kinds {
		if _, group, _ := strings.Cut(resource, "."); group == version.Group && kinds[resource] == kind {
			return resource
		}
	}
	return ""
}

func savedVerdict(v *artifact.VolumeInfo) Verdict {
	switch v.Outcome() {
	case artifact.VolumeSaved:
		return includedVerdict
	case artifact.VolumeSkipped:
		return excludedVerdict(
			VolumeSkipped,
			"its data was skipped"+human.Prefixed(": ", strings.TrimSuffix(v.SkippedReason, ";")),
		)
	case artifact.VolumeFailed:
		return excludedVerdict(VolumeFailed, "saving its data failed"+human.Prefixed(": ", v.Method+" "+v.Phase))
	}
	return unknownVerdict(OldVolumeRecord, "Velero's record does not say whether its data was saved")
}

// itemFailurePattern matches what Velero says about an item for which an action failed: Velero lists the item, but
// stores neither the item nor what the action would have saved, such as a snapshot that timed out
// (pkg/backup/item_backupper.go, executeActions).
var itemFailurePattern = regexp.MustCompile(
	`(?s)name: /(\S+) .*\(groupResource=([^,]+), namespace=([^,]*), name=([^)]+)\): ` +
		`(?:rpc error: code = \w+ desc = )?(.*)`,
)

// AddErrors records the items that errors of the backup name. An item that fails while a pod brings it in fails the
// pod, too.
func (r *Record) AddErrors(messages []string) {
	for _, text := range messages {
		m := itemFailurePattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		outer, resource, namespace, name, why := m[1], m[2], m[3], m[4], human.Shorten(m[5], 200)
		if resource == Claims && strings.Contains(why, "context deadline") { // pkg/util/csi, WaitUntilVSCHandleIsReady
			why = "its CSI snapshot was not ready within csiSnapshotTimeout"
		}
		r.Failed[resource+" "+human.Namespaced(namespace, name)] = why
		if resource == Claims && outer != name {
			r.Failed[Pods+" "+namespace+"/"+outer] = "its claim " + name + " failed"
		}
	}
}

// judgeClaim returns what became of the data of a claim that the backup lists. volume is the name of the claim's
// volume, empty if it is unknown or was made by a restore of this backup.
func (r *Record) judgeClaim(claim, volume string) Verdict {
	s, recorded := r.Saved[claim]
	switch why := r.Failed[Claims+" "+claim]; {
	case why != "":
		return excludedVerdict(VolumeFailed, "saving it failed: "+why)
	case recorded && s.PV != "" && volume != "" && s.PV != volume:
		return excludedVerdict(Recreated, "the claim had another volume then, "+s.PV)
	case recorded:
		return s.Verdict
	case r.NoVolumes:
		return unknownVerdict(OldVolumeRecord, "Velero stored no record of volumes")
	case volume != "" && !slices.Contains(r.Items[Volumes], volume):
		return unknownVerdict(
			OldVolumeRecord,
			"the backup leaves out its PersistentVolume, so Velero keeps no record of its data",
		)
	}
	return excludedVerdict(NoData, "it lists the claim, and nothing saved its data")
}
