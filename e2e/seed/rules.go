package seed

import (
	"math/rand/v2"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The namespaces of the set that Rules makes.
const (
	OrdersNamespace  = "orders"  // one or a few of everything
	StockNamespace   = "stock"   // names that Orders has too
	ArchiveNamespace = "archive" // only what has ended, and a ConfigMap
)

// NewRuleSet makes a small set in which every object is there for a rule by which
// a restore picks what it restores. Crates are custom resources with a short
// name; the custom Services have the plural of Kubernetes' own.
func NewRuleSet() Set {
	m := setBuilder{random: rand.New(rand.NewPCG(0, 0))}
	crate := newDefinition("Crate", "crates", apiextensionsv1.NamespaceScoped)
	crate.Spec.Names.ShortNames = []string{"ct"}
	service := newDefinition("Service", "services", apiextensionsv1.NamespaceScoped)
	service.Spec.Names.ShortNames = []string{"lsvc"}
	m.set.Definitions = append(
		m.set.Definitions,
		crate,
		service,
		newDefinition("Depot", "depots", apiextensionsv1.ClusterScoped),
	)
	for _, name := range []string{OrdersNamespace, StockNamespace, ArchiveNamespace} {
		m.addBases(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"part-of": "rules"}}},
		)
	}
	m.addObjects(
		m.newCustomObject("Depot", labelledMeta("", "depot-web", "web", "red")),
		m.newCustomObject("Depot", labelledMeta("", "depot-db", "db", "blue")),
	)
	m.addOrders()
	m.addStock()
	m.addArchive()
	return m.set
}

// JoinSets makes one set of several.
func JoinSets(sets ...Set) (all Set) {
	for _, s := range sets {
		all.Definitions = slices.Concat(all.Definitions, s.Definitions)
		all.Prerequisites = slices.Concat(all.Prerequisites, s.Prerequisites)
		all.Objects = slices.Concat(all.Objects, s.Objects)
		all.Ended = slices.Concat(all.Ended, s.Ended)
	}
	return all
}

func labelledMeta(namespace, name, app, team string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app, "team": team}}
}

func (m *setBuilder) addOrders() {
	for _, c := range []struct{ name, app, team string }{
		{"config-0", "web", "red"}, {"config-1", "web", "blue"}, {"config-2", "db", "red"},
		{"config-3", "db", "blue"}, {"config-4", "cache", "red"},
	} {
		m.addObjects(
			&corev1.ConfigMap{
				ObjectMeta: labelledMeta(OrdersNamespace, c.name, c.app, c.team),
				Data:       map[string]string{"settings": m.randomText(30)},
			},
		)
	}
	acted := labelledMeta(OrdersNamespace, "config-acted", "cache", "blue")
	acted.Labels[ActedLabel] = ActedEarly
	m.addObjects(&corev1.ConfigMap{ObjectMeta: acted})
	m.addObjects(&corev1.Secret{ObjectMeta: labelledMeta(OrdersNamespace, "secret-0", "web", "red")})
	// Velero skips the tokens of accounts, and counts them.
	token := labelledMeta(OrdersNamespace, "token-0", "web", "red")
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	m.addObjects(&corev1.Secret{ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken})
	m.addService(OrdersNamespace, 0)
	m.addService(OrdersNamespace, 1)
	m.addObjects(m.newCustomObject("Service", labelledMeta(OrdersNamespace, "custom-service-0", "web", "red")))
	m.addAccount(OrdersNamespace, 0)
	m.addWorkload(OrdersNamespace, 0)
	m.addPolicies(namespaceSize{namespace: OrdersNamespace, policies: 1})
	for _, name := range []string{"crate-0", "crate-1"} {
		m.addObjects(m.newCustomObject("Crate", labelledMeta(OrdersNamespace, name, "web", "red")))
	}
	m.addClaim(OrdersNamespace, 0) // with a volume, and a pod that uses it
	m.addUnboundClaim(OrdersNamespace)
	m.addRulePods()
	m.addEndedJob(OrdersNamespace, 0)
	suspended := true
	job := podTemplate(nil)
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	m.addObjects(
		&batchv1.Job{
			ObjectMeta: labelledMeta(OrdersNamespace, "suspended-0", "db", "red"),
			Spec:       batchv1.JobSpec{Suspend: &suspended, Template: job},
		},
	)
}

// addRulePods are pods that bring a PriorityClass, or a claim of other labels.
func (m *setBuilder) addRulePods() {
	important := &corev1.Pod{ObjectMeta: labelledMeta(OrdersNamespace, "important-0", "web", "green"), Spec: podSpec()}
	important.Spec.PriorityClassName = priorityClass
	mount := &corev1.Pod{ObjectMeta: labelledMeta(OrdersNamespace, "mounts-0", "web", "green"), Spec: podSpec()}
	mount.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: unboundClaimName},
	}}}
	m.addObjects(important, mount)
	m.addEndedPod(OrdersNamespace, "ended-ok", corev1.PodSucceeded)
	m.addEndedPod(OrdersNamespace, "ended-badly", corev1.PodFailed)
}

func (m *setBuilder) addEndedPod(namespace, name string, phase corev1.PodPhase) {
	meta := labelledMeta(namespace, name, "worker", "green")
	meta.Labels["state"] = "ended"
	m.addEnded(
		&corev1.Pod{ObjectMeta: meta, Spec: podSpec(), Status: corev1.PodStatus{Phase: phase, StartTime: &endedRunTime}},
	)
}

// unboundClaimName is a claim that no volume is there for.
const unboundClaimName = "unbound-0"

func (m *setBuilder) addUnboundClaim(namespace string) {
	none := "none"
	m.addObjects(&corev1.PersistentVolumeClaim{
		ObjectMeta: labelledMeta(namespace, unboundClaimName, "none", "none"),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{
				corev1.ReadWriteOnce,
			},
			StorageClassName: &none,
			Resources:        oneGibibyte,
		},
	})
}

func (m *setBuilder) addStock() {
	for _, name := range []string{"config-0", "config-1", "config-9"} {
		m.addObjects(&corev1.ConfigMap{ObjectMeta: labelledMeta(StockNamespace, name, "db", "red")})
	}
	m.addObjects(
		&corev1.Secret{ObjectMeta: labelledMeta(StockNamespace, "secret-0", "db", "red")},
		m.newCustomObject("Crate", labelledMeta(StockNamespace, "crate-0", "db", "red")),
	)
	m.addPolicies(namespaceSize{namespace: StockNamespace})
}

func (m *setBuilder) addArchive() {
	m.addObjects(&corev1.ConfigMap{ObjectMeta: labelledMeta(ArchiveNamespace, "config-0", "web", "red")})
	m.addEndedPod(ArchiveNamespace, "ended-0", corev1.PodSucceeded)
	m.addEndedPod(ArchiveNamespace, "ended-1", corev1.PodFailed)
}
