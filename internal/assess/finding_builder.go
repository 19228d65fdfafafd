package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// findingBuilder collects findings. A thing with the cause of another finding is added to that finding, so causes
// come first.
type findingBuilder struct {
	*Assessment
	findings []*Finding
	byObject map[types.UID]*Finding // by the object
	// server and locations are findings about causes.
	server    *Finding
	locations map[string]*Finding
	// leftovers are the findings about volumes of ended jobs, by these volumes.
	leftovers map[velero.VolumeRef]*Finding
}

// ListFindingsInWords returns the findings of [Assessment.ListFindings] with their durations in words.
func (a *Assessment) ListFindingsInWords() []Finding {
	spoken := *a
	spoken.World.Style = human.SpokenStyle
	return spoken.ListFindings()
}

// ListFindings lists everything that needs attention, each cause once, in the order of [CompareFindings].
func (a *Assessment) ListFindings() []Finding {
	l := &findingBuilder{
		Assessment: a, byObject: map[types.UID]*Finding{}, locations: map[string]*Finding{},
		leftovers: map[velero.VolumeRef]*Finding{},
	}
	l.addServer()
	l.addMalformed()
	l.addLocations()
	l.addLeftovers()
	l.addStrayMovers()
	l.addActive()
	l.addSchedules()
	l.addGoneSchedules()
	l.addEnded()
	l.addEmpty()
	l.addSmallerBackups()
	l.addRepositories()
	l.addDeletions()
	l.addExpired()
	l.addEtcd()
	l.addCoverage()
	l.joinQueues()
	l.explainLocations()
	found := make([]Finding, len(l.findings))
	for i, f := range l.findings {
		slices.SortFunc(f.Affects, human.CompareNames)
		f.Affects = slices.Compact(f.Affects)
		found[i] = *f
	}
	SortFindings(found)
	return found
}

func (l *findingBuilder) addFinding(f Finding) *Finding {
	if f.Tab != TabCoverage { // coverage findings are about namespaces
		f.Namespace = cmp.Or(f.Namespace, l.Snapshot.Namespace)
	}
	if f.Summary = strings.TrimSpace(f.Summary); !strings.HasSuffix(f.Summary, "...") {
		f.Summary = strings.TrimSuffix(f.Summary, ".")
	}
	f.Names = l.namesOf(&f)
	if f.UID != "" {
		l.byObject[f.UID] = &f
	}
	l.findings = append(l.findings, &f)
	return &f
}

// namesOf returns the names for the commands of a finding, with those that it has already.
func (l *findingBuilder) namesOf(f *Finding) diagnosis.Names {
	n := l.World.ServerNames()
	n.Kind, n.Name, n.Namespace = f.Kind, f.Name, l.Snapshot.Namespace
	if f.Tab == TabEtcd {
		n.Namespace = "" // the commands of its reasons name the operator's
	}
	if f.Kind == "storage" {
		n.Location = f.Name
	}
	n.Node, n.Agent, n.Pod = f.Names.Node, f.Names.Agent, f.Names.Pod
	n.Memory, n.Container = f.Names.Memory, f.Names.Container
	n.Location, n.Backup = cmp.Or(f.Names.Location, n.Location), f.Names.Backup
	return n
}

// addBeside adds a finding that explains nothing else that is wrong with the same object.
func (l *findingBuilder) addBeside(f Finding) *Finding {
	before, known := l.byObject[f.UID]
	added := l.addFinding(f)
	if delete(l.byObject, f.UID); known {
		l.byObject[f.UID] = before
	}
	return added
}

// addObjectFinding adds the finding about an object of a resource, unless another finding is about that object.
func (l *findingBuilder) addObjectFinding(resource string, o metav1.Object, f Finding) *Finding {
	if l.hasFinding(o.GetUID()) {
		return nil
	}
	short := kindLabels[resource]
	f.Kind, f.Tab, f.Namespace, f.Name, f.UID = short.kind, short.in, o.GetNamespace(), o.GetName(), o.GetUID()
	return l.addFinding(f)
}

// hasFinding reports whether a finding is about the object with that uid.
func (l *findingBuilder) hasFinding(uid types.UID) bool { return l.byObject[uid] != nil }

// queueReasons are the reasons of jobs and backups that wait until something stuck ends.
var queueReasons = []diagnosis.Reason{diagnosis.QueueBlocked, diagnosis.FinalizingBehind, etcd.BehindStuckBackup}

// joinQueues adds what waits behind something stuck to the finding about the latter.
func (l *findingBuilder) joinQueues() {
	first := map[bool]*Finding{} // by whether the finding is about etcd
	for _, f := range slices.Backward(l.findings) {
		if f.isStuck && !slices.Contains(queueReasons, f.Reason) {
			first[f.Tab == TabEtcd] = f
		}
	}
	l.findings = slices.DeleteFunc(l.findings, func(f *Finding) bool {
		blocker := first[f.Tab == TabEtcd]
		if !slices.Contains(queueReasons, f.Reason) || !blocker.addAffected(f.Ref()) {
			return false
		}
		blocker.Affects = append(blocker.Affects, f.Affects...)
		return true
	})
}

func (l *findingBuilder) addServer() {
	why, since := diagnosis.FindServerOutage(l.World)
	if why.IsZero() {
		return
	}
	s := l.World.Server
	l.server = l.addFinding(
		Finding{
			Severity: Critical,
			Reason:   why,
			Kind:     "server",
			Name:     cmp.Or(s.Deployment, s.Name, "velero"),
			Since:    since,
			Summary: "No Velero server runs" + human.InParens(
				cmp.Or(s.WaitingReason, s.LastTerminationReason),
			) + ": jobs neither continue nor start",
		},
	)
}

// kindLabels are the words for Velero's kinds, by the resource names of [watch].
var kindLabels = map[string]struct {
	kind string
	in   Tab
}{
	watch.Backups: {
		"backup",
		TabBackups,
	},
	watch.Restores:  {"restore", TabRestores},
	watch.Schedules: {"schedule", TabSchedules},
	watch.StorageLocations: {
		"storage",
		TabStorage,
	},
	watch.Repositories:   {"repository", TabStorage},
	watch.DeleteRequests: {"deletion", TabDeletions},
}

func (l *findingBuilder) addMalformed() {
	for _, m := range l.Snapshot.Malformed {
		short := kindLabels[m.Resource]
		l.addFinding(
			Finding{
				Severity:  Critical,
				Reason:    diagnosis.MalformedSpec,
				Kind:      cmp.Or(short.kind, strings.ToLower(m.Kind)),
				Namespace: m.Namespace,
				Name:      m.Name,
				UID:       m.UID,
				Tab: cmp.Or(
					short.in,
					TabStorage,
				),
				Summary: fmt.Sprintf(
					"Velero cannot read %s, and may stop reading this kind until you correct it",
					m.Fields[0],
				),
			},
		)
	}
}
