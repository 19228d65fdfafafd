package velero

// SchemaVersions are the versions of Velero whose CRD of a kind has a given
// content: from From on, and before Before where that is not zero.
type SchemaVersions struct{ From, Before Version }

// schemaMarkers are fields and phases that came with a version, newest first
// (config/crd/v1/bases of v1.13.2 to v1.18.3).
var schemaMarkers = map[string][]struct {
	spec, status, phase string
	since               Version
}{
	"Backup": {
		{status: "queuePosition", since: Version{1, 18, 0}},
		{spec: "volumeGroupSnapshotLabelKey", since: Version{1, 17, 0}},
	},
	"Restore": {
		{spec: "resourcePolicy", since: Version{1, 18, 3}},
		{phase: PhaseFinalizing, since: Version{1, 14, 0}},
	},
}

// SchemaVersionsOf tells by the CRD of a kind, Backup or Restore, which versions
// of Velero it belongs to. spec and status are the properties of the schema's two
// parts. known is false for a schema that tells nothing. A server may be newer
// than the CRDs of its cluster if an upgrade forgot them.
func SchemaVersionsOf(kind string, spec, status map[string]any) (versions SchemaVersions, known bool) {
	if len(spec) == 0 || len(status) == 0 {
		return SchemaVersions{}, false
	}
	phases := map[any]bool{}
	if phase, ok := status["phase"].(map[string]any); ok {
		values, _ := phase["enum"].([]any)
		for _, v := range values {
			if name, ok := v.(string); ok {
				phases[name] = true
			}
		}
	}
	for _, m := range schemaMarkers[kind] {
		_, inSpec := spec[m.spec]
		_, inStatus := status[m.status]
		if m.spec != "" && inSpec || m.status != "" && inStatus || m.phase != "" && phases[m.phase] {
			versions.From = m.since
			return versions, true
		}
		versions.Before = m.since
	}
	return versions, versions.Before != Version{}
}

// Likely is the oldest version that is certain to be among them, or, where only
// an upper bound is known, the minor version below it.
func (s SchemaVersions) Likely() Version {
	if s.From != (Version{}) {
		return s.From
	}
	return Version{s.Before[0], s.Before[1] - 1, 0}
}

func (s SchemaVersions) String() string {
	switch {
	case s.From == Version{}:
		return "a version before " + s.Before.String()
	case s.Before == Version{}:
		return s.From.String() + " or later"
	}
	return s.From.String() + " or later, but before " + s.Before.String()
}
