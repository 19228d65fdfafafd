package seed

import (
	"fmt"
	"math/rand/v2"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The label by which objects ask for the lab's plugin, and its values: an
// early object is met in the middle of a job, a late one at its end.
const (
	ActedLabel = "lab.veltui.io/acted"
	ActedEarly = "early"
	ActedLate  = "late"
)

// Set is what is created, in the order in which it must be created.
type Set struct {
	// Definitions must be served before Objects can be created.
	Definitions []client.Object
	// Prerequisites are namespaces, classes and volumes that Objects refer to.
	Prerequisites []client.Object
	// Objects depend on nothing among themselves.
	Objects []client.Object
	// Ended are pods and jobs whose status must be written after they are
	// created; the status is in the object.
	Ended []client.Object
}

// NamespaceNames are the namespaces of a Set, the largest first.
func NamespaceNames() []string {
	names := make([]string, len(namespaceSizes))
	for i, s := range namespaceSizes {
		names[i] = s.namespace
	}
	return names
}

// namespaceSize says how many objects of each kind a namespace gets.
type namespaceSize struct {
	namespace                                            string
	configMaps, secrets, services, accounts, deployments int
	jobs, pods, claims, widgets, policies                int
}

var namespaceSizes = []namespaceSize{
	{"shop", 500, 200, 40, 15, 12, 6, 30, 10, 40, 6},
	{"billing", 120, 60, 20, 10, 6, 4, 15, 6, 20, 4},
	{"media", 90, 40, 15, 5, 4, 3, 10, 8, 20, 3},
	{"ops", 90, 50, 15, 5, 4, 3, 10, 4, 20, 3},
}

// New makes the set of one seed.
func New(number uint64) Set {
	m := setBuilder{random: rand.New(rand.NewPCG(number, 0))}
	m.addClusterObjects()
	for _, s := range namespaceSizes {
		m.addNamespace(s)
	}
	return m.set
}

// setBuilder makes one set. All chance comes from random, so the order of calls is
// part of what a seed means.
type setBuilder struct {
	random *rand.Rand
	set    Set
}

func (m *setBuilder) addObjects(objects ...client.Object) {
	m.set.Objects = append(m.set.Objects, objects...)
}
func (m *setBuilder) addBases(objects ...client.Object) {
	m.set.Prerequisites = append(m.set.Prerequisites, objects...)
}
func (m *setBuilder) addEnded(objects ...client.Object) {
	m.set.Ended = append(m.set.Ended, objects...)
}

// randomMeta is the metadata of one object of an application.
func (m *setBuilder) randomMeta(namespace, kind string, i int) metav1.ObjectMeta {
	app := pickOne(m.random, "web", "api", "db", "cache", "worker")
	tier := "front"
	if app == "db" || app == "cache" {
		tier = "data"
	}
	return metav1.ObjectMeta{
		Namespace: namespace,
		Name:      fmt.Sprintf("%s-%s-%04d", app, kind, i),
		Labels:    map[string]string{"app": app, "tier": tier, "team": pickOne(m.random, "red", "blue", "green")},
	}
}

// randomText is n to 2n bytes of words.
func (m *setBuilder) randomText(n int) string {
	var b strings.Builder
	for length := n + m.random.IntN(n+1); b.Len() < length; {
		b.WriteString(
			pickOne(
				m.random,
				"alder ",
				"birch ",
				"cedar ",
				"elm ",
				"fir ",
				"hazel ",
				"larch ",
				"maple\n",
				"oak ",
				"pine ",
				"rowan ",
				"yew\n",
			),
		)
	}
	return b.String()
}

func pickOne(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }
