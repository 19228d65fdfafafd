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
	Orders  = "orders"  // one or a few of everything
	Stock   = "stock"   // names that Orders has too
	Archive = "archive" // only what has ended, and a ConfigMap
)

// Rules makes a small set in which every object is there for a rule by which
// a restore picks what it restores. Crates are custom resources with a short
// name; the custom Services have the plural of Kubernetes' own.
func Rules() Set {
	m := maker{random: rand.New(rand.NewPCG(0, 0))}
	crate := definition("Crate", "crates", apiextensionsv1.NamespaceScoped)
	crate.Spec.Names.ShortNames = []string{"ct"}
	service := definition("Service", "services", apiextensionsv1.NamespaceScoped)
	service.Spec.Names.ShortNames = []string{"lsvc"}
	m.set.Definitions = append(
		m.set.Definitions,
		crate,
		service,
		definition("Depot", "depots", apiextensionsv1.ClusterScoped),
	)
	for _, name := range []string{Orders, Stock, Archive} {
		m.base(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"part-of": "rules"}}},
		)
	}
	m.add(
		m.custom("Depot", labelled("", "depot-web", "web", "red")),
		m.custom("Depot", labelled("", "depot-db", "db", "blue")),
	)
	m.orders()
	m.stock()
	m.archive()
	return m.set
}

// Join makes one set of several.
func Join(sets ...Set) (all Set) {
	for _, s := range sets {
		all.Definitions = slices.Concat(all.Definitions, s.Definitions)
		all.Bases = slices.Concat(all.Bases, s.Bases)
		all.Objects = slices.Concat(all.Objects, s.Objects)
		all.Ended = slices.Concat(all.Ended, s.Ended)
	}
	return all
}

func labelled(namespace, name, app, team string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app, "team": team}}
}

func (m *maker) orders() {
	for _, c := range []struct{ name, app, team string }{
		{"config-0", "web", "red"}, {"config-1", "web", "blue"}, {"config-2", "db", "red"},
		{"config-3", "db", "blue"}, {"config-4", "cache", "red"},
	} {
		m.add(
			&corev1.ConfigMap{
				ObjectMeta: labelled(Orders, c.name, c.app, c.team),
				Data:       map[string]string{"settings": m.text(30)},
			},
		)
	}
	acted := labelled(Orders, "config-acted", "cache", "blue")
	acted.Labels[ActedLabel] = Early
	m.add(&corev1.ConfigMap{ObjectMeta: acted})
	m.add(&corev1.Secret{ObjectMeta: labelled(Orders, "secret-0", "web", "red")})
	// Velero skips the tokens of accounts, and counts them.
	token := labelled(Orders, "token-0", "web", "red")
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	m.add(&corev1.Secret{ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken})
	m.service(Orders, 0)
	m.service(Orders, 1)
	m.add(m.custom("Service", labelled(Orders, "custom-service-0", "web", "red")))
	m.account(Orders, 0)
	m.workload(Orders, 0)
	m.policies(size{namespace: Orders, policies: 1})
	for _, name := range []string{"crate-0", "crate-1"} {
		m.add(m.custom("Crate", labelled(Orders, name, "web", "red")))
	}
	m.claim(Orders, 0) // with a volume, and a pod that uses it
	m.unboundClaim(Orders)
	m.rulePods()
	m.endedJob(Orders, 0)
	suspended := true
	job := podTemplate(nil)
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	m.add(
		&batchv1.Job{
			ObjectMeta: labelled(Orders, "suspended-0", "db", "red"),
			Spec:       batchv1.JobSpec{Suspend: &suspended, Template: job},
		},
	)
}

// rulePods are pods that bring a PriorityClass, or a claim of other labels.
func (m *maker) rulePods() {
	important := &corev1.Pod{ObjectMeta: labelled(Orders, "important-0", "web", "green"), Spec: podSpec()}
	important.Spec.PriorityClassName = priorityClass
	mount := &corev1.Pod{ObjectMeta: labelled(Orders, "mounts-0", "web", "green"), Spec: podSpec()}
	mount.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: unbound},
	}}}
	m.add(important, mount)
	m.endedPod(Orders, "ended-ok", corev1.PodSucceeded)
	m.endedPod(Orders, "ended-badly", corev1.PodFailed)
}

func (m *maker) endedPod(namespace, name string, phase corev1.PodPhase) {
	meta := labelled(namespace, name, "worker", "green")
	meta.Labels["state"] = "ended"
	m.ended(&corev1.Pod{ObjectMeta: meta, Spec: podSpec(), Status: corev1.PodStatus{Phase: phase, StartTime: &ran}})
}

// unbound is a claim that no volume is there for.
const unbound = "unbound-0"

func (m *maker) unboundClaim(namespace string) {
	none := "none"
	m.add(&corev1.PersistentVolumeClaim{
		ObjectMeta: labelled(namespace, unbound, "none", "none"),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{
				corev1.ReadWriteOnce,
			},
			StorageClassName: &none,
			Resources:        oneGibibyte,
		},
	})
}

func (m *maker) stock() {
	for _, name := range []string{"config-0", "config-1", "config-9"} {
		m.add(&corev1.ConfigMap{ObjectMeta: labelled(Stock, name, "db", "red")})
	}
	m.add(
		&corev1.Secret{ObjectMeta: labelled(Stock, "secret-0", "db", "red")},
		m.custom("Crate", labelled(Stock, "crate-0", "db", "red")),
	)
	m.policies(size{namespace: Stock})
}

func (m *maker) archive() {
	m.add(&corev1.ConfigMap{ObjectMeta: labelled(Archive, "config-0", "web", "red")})
	m.endedPod(Archive, "ended-0", corev1.PodSucceeded)
	m.endedPod(Archive, "ended-1", corev1.PodFailed)
}
