package preflight

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestVolumes has what becomes of claims that name a volume, and what brings their data.
func TestVolumes(t *testing.T) {
	no := false
	const named = `,"spec":{"storageClassName":"fast","volumeName":"v"},"status":{"phase":"Bound"}`
	const unnamed = `,"spec":{"volumeName":"v"},"status":{"phase":"Bound"}`
	volume := func(policy string) item {
		return item{volumes, "", "v", `,"spec":{"persistentVolumeReclaimPolicy":"` + policy + `"}`}
	}
	claim := item{claims, "shop", "data", named}
	kept, gone := []item{claim, volume("Retain")}, []item{claim, volume("Delete")}
	inSnapshot := []item{{claims, "shop", "data", annotated("velero.io/data-upload-name", named)}, volume("Retain")}
	classless := []item{{claims, "shop", "data", unnamed}, volume("Delete")}
	pod := []item{{pods, "shop", "p", oneCPU}}
	there := func(claim string, used bool, classes ...string) live.Environment {
		s := live.Environment{
			StorageClasses:    map[string]bool{},
			SnapshotLocations: map[string]bool{"there": true},
			Volumes: map[string]live.VolumeSummary{
				"v": {Claim: claim, ClaimHadUID: used, Phase: "Bound", Class: "fast", Size: 1 << 30},
			},
		}
		if claim == "none" {
			s.Volumes = nil
		}
		for _, class := range classes {
			s.StorageClasses[class] = false
		}
		return s
	}
	sized := func(class, size string) []item {
		return []item{
			{
				claims,
				"shop",
				"data",
				`,"spec":{` + class + `"volumeName":"v","resources":{"requests":{"storage":"` + size + `"}}},"status":{"phase":"Bound"}`,
			},
			volume("Retain"),
		}
	}
	modified := func(s live.Environment) live.Environment {
		s.ConfigMapData = map[string]map[string]string{
			"m": {"rules": "version: v1\nresourceModifierRules:\n- conditions: {groupResource: configmaps}\n"},
		}
		return s
	}
	refused := there("none", false)
	refused.Unchecked = []live.Unchecked{
		{Resource: live.SnapshotLocations, Namespace: "velero", Why: "you may not list it"},
	}
	saved := func(v artifact.VolumeInfo, more ...func(*VeleroState)) func(*VeleroState) {
		return func(to *VeleroState) {
			v.PersistentVolume = "v"
			to.Volumes = []artifact.VolumeInfo{v}
			for _, change := range more {
				change(to)
			}
		}
	}
	csi := func(v *VeleroState) { v.Server.Flags.Features = []string{"EnableCSI"} }
	agent := func(ready bool) func(*VeleroState) {
		return func(v *VeleroState) { v.Agents = []velero.NodeAgent{{Ready: ready}} }
	}
	natives := func(locations ...string) func(*VeleroState) {
		return func(v *VeleroState) {
			v.Backup.Status.VolumeSnapshotsAttempted, v.Backup.Spec.VolumeSnapshotLocations = 1, locations
		}
	}
	byPod, native := artifact.VolumeInfo{
		Method:       artifact.MethodPodVolumeBackup,
		PodNamespace: "shop",
		Pod:          "p",
		Result:       "succeeded",
	}, artifact.VolumeInfo{
		Method: artifact.MethodNativeSnapshot,
	}
	moved := artifact.VolumeInfo{Method: artifact.MethodCSISnapshot, DataMoved: true}
	unread := func(v *VeleroState) { v.VolumesUnchecked = "read-only" }
	unknown := func(v *VeleroState) { v.Server = velero.Server{} }
	mapped := veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "new"}}
	update := veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	mappedUpdate := veleroapi.RestoreSpec{
		NamespaceMapping:       mapped.NamespaceMapping,
		ExistingResourcePolicy: veleroapi.PolicyTypeUpdate,
	}
	alone := veleroapi.RestoreSpec{IncludeClusterResources: &no}
	withoutData := veleroapi.RestoreSpec{RestorePVs: &no}
	skipped := saved(artifact.VolumeInfo{Skipped: true})
	for name, c := range map[string]struct {
		given
		want, says string
	}{
		"mapped, the volume stays with the original":    {given{items: kept, spec: mapped, around: there("shop/data", true), velero: skipped}, "obstacle ClaimsNeverBind", "1 claim names a volume that cannot be bound to it (v belongs to shop/data (Bound)). They stay Pending."},
		"kept for a claim of that name":                 {given{items: kept, around: there("shop/data", true), velero: skipped}, "obstacle ClaimsNeverBind", "earlier claim of that name"},
		"free, and too small":                           {given{items: sized(`"storageClassName":"fast",`, "2Gi"), around: there("", false), velero: skipped}, "obstacle ClaimsNeverBind", "v is too small"},
		"free, and of that size":                        {given{items: sized(`"storageClassName":"fast",`, "1Gi"), around: there("", false), velero: skipped}, "", ""},
		"free, and of another class":                    {given{items: sized(`"storageClassName":"slow",`, "1Gi"), around: there("shop/data", false), velero: skipped}, "obstacle ClaimsNeverBind", "v is of another storage class"},
		"free, and the claim of no class":               {given{items: sized(`"storageClassName":"",`, "1Gi"), around: there("", false), velero: skipped}, "obstacle ClaimsNeverBind", "v is of another storage class"},
		"free, for a claim that gets the default class": {given{items: sized("", "1Gi"), around: there("", false), velero: skipped}, "", ""},
		"free, too small, and patched":                  {given{items: sized(`"storageClassName":"fast",`, "2Gi"), spec: update, around: there("", false), velero: skipped}, "", ""},
		"kept for a claim of another name":              {given{items: kept, around: there("shop/other", false), velero: skipped}, "obstacle ClaimsNeverBind", "shop/other"},
		"reserved for the claim":                        {given{items: kept, around: there("shop/data", false), velero: skipped}, "", ""},
		"free":                                          {given{items: kept, around: there("", false), velero: skipped}, "", ""},
		"restored":                                      {given{items: kept, around: there("none", false), velero: skipped}, "", ""},
		"neither there nor restored":                    {given{items: gone, spec: alone, around: there("none", false), velero: skipped}, "obstacle ClaimsNeverBind", "does not exist, and is not restored"},
		"there and not restored":                        {given{items: gone, spec: alone, around: there("ops/a", true), velero: skipped}, "obstacle ClaimsNeverBind", "ops/a"},
		"the claim is there":                            {given{items: kept, around: there("ops/a", true), there: always}, "doubt ClaimsExist, note VolumesExist", ""},
		"Velero makes a new one, reclaim policy":        {given{items: gone, spec: mapped, around: there("shop/data", true, "fast"), velero: skipped}, "", ""},
		"Velero makes a new one, file-system backup":    {given{items: kept, spec: mapped, around: there("shop/data", true, "fast"), velero: saved(byPod)}, "", ""},
		"Velero makes a new one, snapshot":              {given{items: inSnapshot, spec: mapped, around: there("shop/data", true, "fast"), velero: saved(artifact.VolumeInfo{Method: artifact.MethodCSISnapshot}, csi)}, "", ""},
		"Velero drops every name":                       {given{items: kept, spec: veleroapi.RestoreSpec{RestorePVs: &no, NamespaceMapping: mapped.NamespaceMapping}, around: there("shop/data", true, "fast"), velero: saved(artifact.VolumeInfo{}, csi)}, "", ""},
		"without EnableCSI it does not":                 {given{items: kept, spec: withoutData, around: there("ops/a", true), velero: skipped}, "obstacle ClaimsNeverBind", ""},
		"a native snapshot under a new name":            {given{items: kept, spec: mapped, around: there("shop/data", true), velero: saved(native, natives("there"))}, "", ""},
		"a native snapshot, the volume is there":        {given{items: kept, around: there("ops/a", true), velero: saved(native, natives("there"))}, "obstacle ClaimsNeverBind", ""},
		"the record cannot be read":                     {given{items: kept, spec: mapped, around: there("shop/data", true, "fast"), velero: unread}, "doubt ClaimsNeverBind", "record"},
		"the server is not seen":                        {given{items: inSnapshot, spec: mapped, around: there("shop/data", true, "fast"), velero: unknown}, "doubt ClaimsNeverBind", "EnableCSI"},
		"no record, an old backup":                      {given{items: kept, spec: mapped, around: there("shop/data", true)}, "obstacle ClaimsNeverBind", ""},
		"update frees a released one":                   {given{items: kept, spec: update, around: there("shop/data", true), velero: skipped}, "", ""},
		"update takes it from another":                  {given{items: kept, spec: mappedUpdate, around: there("shop/data", true), velero: skipped}, "doubt ClaimsNeverBind", "v from shop/data"},
		"volumes may not be listed":                     {given{items: kept, spec: mapped, around: live.Environment{Unchecked: []live.Unchecked{{Resource: live.PersistentVolumes, Why: "no"}}}, velero: skipped}, "", ""},
		"a new volume of a missing class, though kept":  {given{items: kept, around: there("none", false), velero: saved(byPod)}, "obstacle StorageClassMissing", "fast"},
		"a restored volume needs no class":              {given{items: kept, around: there("none", false), velero: saved(native, natives("there"))}, "", ""},
		"whether it needs a class is not known":         {given{items: kept, around: there("none", false), velero: unread}, "doubt StorageClassMissing", "record"},

		"no class, and Velero crashes":          {given{items: classless, around: there("none", false), velero: saved(byPod)}, "obstacle DefaultClassMissing", "crashes on them"},
		"no class, and there is no data":        {given{items: classless, around: there("none", false), velero: skipped}, "obstacle DefaultClassMissing", "They stay Pending."},
		"no class, before Velero patched those": {given{items: classless, around: there("none", false), velero: saved(byPod, func(v *VeleroState) { v.Server.Version = "v1.13.2" })}, "obstacle DefaultClassMissing", "They stay Pending."},

		"no node-agent for a pod":             {given{items: pod, velero: saved(byPod)}, "obstacle NodeAgentMissing", "1 pod has file-system backups. Velero reports an error for each"},
		"no data of the pod":                  {given{items: pod, velero: saved(artifact.VolumeInfo{Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: "q", Result: "succeeded"})}, "", ""},
		"a backup that failed":                {given{items: pod, velero: saved(artifact.VolumeInfo{Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: "p", Result: "failed"})}, "", ""},
		"a node-agent":                        {given{items: pod, velero: saved(byPod, agent(true))}, "", ""},
		"none is ready":                       {given{items: pod, velero: saved(byPod, agent(false))}, "doubt NodeAgentMissing", "No node-agent is ready"},
		"the pod is there":                    {given{items: pod, velero: saved(byPod), there: always}, "doubt ObjectsExist", ""},
		"moved data":                          {given{items: inSnapshot, around: there("none", false, "fast"), velero: saved(moved, csi)}, "obstacle NodeAgentMissing", "moved data of 1 claim"},
		"moved data that nobody wants":        {given{items: inSnapshot, spec: withoutData, around: there("none", false, "fast"), velero: saved(moved, csi)}, "", ""},
		"data that another mover moves":       {given{items: inSnapshot, around: there("none", false, "fast"), velero: saved(artifact.VolumeInfo{Method: artifact.MethodCSISnapshot, DataMoved: true, DataMover: "other"}, csi)}, "", ""},
		"a snapshot location is missing":      {given{items: kept, around: there("none", false), velero: saved(native, natives("gone"))}, "obstacle SnapshotLocationMissing", "gone of the backup does not exist"},
		"one of several is missing":           {given{items: kept, around: there("none", false), velero: saved(native, natives("gone", "there"))}, "doubt SnapshotLocationMissing", "Others"},
		"locations may not be listed":         {given{items: kept, around: refused, velero: saved(native, natives("gone"), func(v *VeleroState) { v.Backup.Namespace = "velero" })}, "", ""},
		"it is missing, and nobody wants it":  {given{items: kept, spec: withoutData, around: there("none", false), velero: saved(native, natives("gone"))}, "", ""},
		"node-agents may not be listed":       {given{items: pod, velero: saved(byPod, func(v *VeleroState) { v.AgentsUnchecked = "you may not list them" })}, "", ""},
		"a modifier that touches the volumes": {given{items: kept, spec: veleroapi.RestoreSpec{NamespaceMapping: mapped.NamespaceMapping, ResourceModifier: config("m")}, around: there("shop/data", true), velero: skipped}, "doubt ClaimsNeverBind", "resource modifier m"},
		"a modifier that does not":            {given{items: kept, spec: veleroapi.RestoreSpec{NamespaceMapping: mapped.NamespaceMapping, ResourceModifier: config("m")}, around: modified(there("shop/data", true)), velero: skipped}, "obstacle ClaimsNeverBind, doubt RuleInvalid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := checked(t, c.given)
			text := ""
			for _, f := range r.Findings {
				text += f.Sentence
			}
			if got := kindsOf(r); got != c.want || !strings.Contains(text, c.says) {
				t.Errorf("%s, want %s saying %q: %+v", got, c.want, c.says, r.Findings)
			}
			if strings.Contains(text, "crashes") && !strings.Contains(c.says, "crashes") {
				t.Errorf("the server does not crash: %s", text)
			}
		})
	}
}
