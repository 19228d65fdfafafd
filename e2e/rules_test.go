//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rule is a restore of the backup "rules". The same flags go to `velero restore
// create` and, before Velero can begin with it, to `veltui estimate`. In them
// {} stands for the rule's name, so that no two rules share a new namespace.
type rule struct {
	name  string
	flags []string
	// only are flags that veltui need not know, as they change no count.
	only []string
	// assumes are words of an assumption that veltui must state.
	assumes string
	// empty: it restores nothing.
	empty bool
	// inOrder: the order of the resources is compared too.
	inOrder bool
}

// rulesServer are the server's flags: fast, and with priorities of its own.
var rulesServer = slices.Concat(unthrottled, []string{"--restore-resource-priorities=" + rulesPriorities})

const rulesPriorities = "configmaps,secrets,po,-,customresourcedefinitions,services"

const (
	inOrders  = "--include-namespaces=orders"
	newOrders = "--namespace-mappings=orders:orders-{}"
)

// withoutCrates are restores into a cluster that does not know the custom
// resource "crates" of the backup, nor has its namespace "archive".
var withoutCrates = []rule{
	{
		name:  "short-names",
		flags: []string{inOrders, newOrders, "--include-resources=cm,sa,svc,deploy,ing,netpol,pdb,cj,pvc,po,lsvc"},
	},
	{name: "kind-words", flags: []string{inOrders, newOrders, "--include-resources=ConfigMap,SECRET,role,Ingress"}},
	{
		name: "group-words",
		flags: []string{
			inOrders,
			newOrders,
			"--include-resources=deployments.apps,job.batch,cronjobs.bat,sa.,netpol.networking.k8s.io",
		},
	},
	{name: "same-plural", flags: []string{inOrders, newOrders, "--include-resources=services"}},
	{
		name:  "globs",
		flags: []string{inOrders, newOrders, "--include-resources=s*,config*,*.rbac.authorization.k8s.io,ev*"},
	},
	{
		name:  "exclude-globs",
		flags: []string{inOrders, newOrders, "--exclude-resources=po*,*.apps,endpointslice,crates.lab.veltui.io"},
	},
	{
		name: "namespace-globs",
		flags: []string{
			"--include-namespaces=o*,st?ck",
			"--include-resources=cm,limits",
			"--namespace-mappings=orders:orders-{},stock:stock-{}",
		},
	},
	{
		name: "namespace-exclude-globs",
		flags: []string{
			"--exclude-namespaces=s*,arch[i]ve",
			newOrders,
			"--include-resources=cm,depots.lab.veltui.io,ns",
		},
	},
	{name: "expressions", flags: []string{inOrders, newOrders, "--selector=app in (web,db),team notin (red),!state"}},
	{
		name:  "or-selectors",
		flags: []string{inOrders, newOrders, "--or-selector=state=ended or app=db,team in (blue) or team=none"},
	},
	{
		name:  "cluster-true",
		flags: []string{inOrders, newOrders, "--include-cluster-resources=true", "--selector=app=web"},
	},
	{
		name: "cluster-true-namespaces",
		flags: []string{inOrders, "--namespace-mappings=orders:orders-{},stock:stock-{},archive:archive-{}",
			"--include-cluster-resources", "--include-resources=namespaces,configmaps"},
	},
	{
		name:  "cluster-false",
		flags: []string{inOrders, newOrders, "--include-cluster-resources=false", "--include-resources=pvc,pv,po"},
	},
	{name: "cluster-only", flags: []string{"--include-resources=depots.lab.veltui.io,pc,sc,pv,clusterroles"}},
	{name: "volumes", flags: []string{inOrders, newOrders, "--include-resources=po,pvc,pv,pc", "--selector=app=web"}},
	{name: "volumes-on", flags: []string{inOrders, newOrders, "--include-resources=pvc,pv", "--restore-volumes"}},
	{
		name:  "volumes-off",
		flags: []string{inOrders, newOrders, "--include-resources=pvc,pv", "--restore-volumes=false"},
	},
	{
		name:  "onto-existing",
		flags: []string{inOrders, "--include-resources=cm,svc,jobs"},
		only:  []string{"--existing-resource-policy=update"},
	},
	{
		name: "swapped",
		flags: []string{
			"--include-namespaces=orders,stock",
			"--namespace-mappings=orders:stock,stock:orders",
			"--include-resources=cm",
		},
	},
	{
		name: "many-to-one",
		flags: []string{
			"--include-namespaces=orders,stock",
			"--namespace-mappings=orders:one-{},stock:one-{}",
			"--include-resources=cm,svc,sa,secrets,limits",
		},
	},
	{
		name: "no-namespaces",
		flags: []string{
			"--include-namespaces=stock",
			"--namespace-mappings=stock:stock-{}",
			"--exclude-resources=namespaces,crates.lab.veltui.io",
		},
	},
	{
		name: "only-ended",
		flags: []string{
			"--include-namespaces=archive",
			"--namespace-mappings=archive:archive-{}",
			"--selector=state=ended",
		},
	},
	{
		name:  "statuses",
		flags: []string{inOrders, newOrders, "--include-resources=deployments,jobs,pvc"},
		only:  []string{"--status-include-resources=*"},
	},
	{name: "nowhere", flags: []string{"--include-namespaces=nowhere"}, empty: true},
	{name: "left-out", flags: []string{"--include-resources=ev*,node*,csinodes*,backups*"}, empty: true},
	{
		name: "unserved",
		flags: []string{
			"--include-namespaces=orders,stock",
			"--namespace-mappings=orders:orders-{},stock:stock-{}",
			"--include-resources=crates.lab.veltui.io,cm",
		},
	},
	{
		name:    "unknown-word",
		flags:   []string{inOrders, newOrders, "--include-resources=ct"},
		empty:   true,
		assumes: "does not know ct",
	},
	{
		name:  "policy",
		flags: []string{inOrders, newOrders, "--include-resources=cm", "--resource-policies-configmap=two-configs"},
	},
}

// withCrates are restores that bring "crates" along, or come after that.
var withCrates = [][]rule{
	{
		{
			name: "definitions",
			flags: []string{
				"--include-resources=crd,crates.lab.veltui.io,depots.lab.veltui.io",
				"--namespace-mappings=orders:orders-{},stock:stock-{}",
			},
		},
	},
	{
		{name: "known-word", flags: []string{inOrders, newOrders, "--include-resources=ct"}},
		{name: "everything", flags: []string{"--namespace-mappings=orders:orders-{},stock:stock-{}"}, inOrder: true},
	},
}

// TestRules estimates restores of every kind before they run and compares each
// with what Velero ended with, resource by resource and namespace by namespace.
func TestRules(t *testing.T) {
	backupOfRules(t)
	forget(t)
	// A server looks for new kinds when it starts, so this one knows no crates.
	must(t, theLab.EnsureVelero(patient(t), rulesServer...))
	first := withoutCrates
	if serverVersion(t).Before(rules.Version{1, 18, 3}) {
		first = slices.DeleteFunc(slices.Clone(first), func(r rule) bool { return r.name == "policy" })
	} else {
		createPolicy(t)
	}
	for i, wave := range slices.Concat([][]rule{first}, withCrates) {
		restoreByRules(t, fmt.Sprintf("rules-held-%d", i), wave)
	}
}

// backupOfRules backs up the namespaces of the rules and all cluster-scoped
// resources, a node and its mirror pod among them.
func backupOfRules(t *testing.T) {
	t.Helper()
	must(t, theLab.EnsureVelero(patient(t)))
	ctx, yes := patient(t), true
	const node = "rules-node"
	mirror := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   seed.OrdersNamespace,
			Name:        "mirror-0",
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "mirrored"},
		},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/lab/app:1"}},
		},
	}
	of := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, object := range []client.Object{of, mirror} {
		must(t, theLab.Client.Create(ctx, object))
	}
	h := backup(t, "rules", veleroapi.BackupSpec{
		IncludedNamespaces: []string{seed.OrdersNamespace, seed.StockNamespace, seed.ArchiveNamespace}, IncludeClusterResources: &yes,
	}, nil)
	wantEnd(t, h, "Completed")
	wantTold(t, h)
	for _, object := range []client.Object{mirror, of} {
		must(t, theLab.Client.Delete(ctx, object, client.GracePeriodSeconds(0)))
	}
}

// forget removes from the cluster what the backup shall be the only one to
// have: the definition of crates, and the namespace archive.
func forget(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	for _, object := range []client.Object{
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "crates.lab.veltui.io"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: seed.ArchiveNamespace}},
	} {
		must(t, theLab.DeleteAndWait(ctx, object))
	}
}

// createPolicy makes the resource policy that lets two ConfigMaps through.
func createPolicy(t *testing.T) {
	t.Helper()
	must(t, theLab.Client.Create(patient(t), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "two-configs"},
		Data: map[string]string{"policy.yaml": "version: v1\nnamespacedFilterPolicies:\n" +
			"- namespaces: [orders]\n  resourceFilters:\n  - kinds: [configmaps]\n    names: [config-0, config-1]\n"},
	}))
}

// restoreByRules creates all restores while another one, held, has Velero's
// only worker, and estimates them. Then it lets them run and compares.
func restoreByRules(t *testing.T, holder string, wave []rule) {
	t.Helper()
	rules := slices.Clone(wave)
	createRestore(t, holder, veleroapi.RestoreSpec{
		BackupName: "rules", IncludedNamespaces: []string{seed.OrdersNamespace}, IncludedResources: []string{"configmaps"},
		NamespaceMapping: map[string]string{seed.OrdersNamespace: "orders-held"},
	}, lab.Annotations{lab.HoldAnnotation: holder})
	await(t, "Restore", holder, "have the worker", lab.InPhase("InProgress"))
	for i := range rules {
		rules[i].name = "rule-" + rules[i].name
	}
	for _, r := range rules {
		_, err := theLab.VeleroCLI(
			patient(t),
			slices.Concat([]string{"restore", "create", r.name, "--from-backup=rules"}, r.named(), r.only)...)
		must(t, err)
	}
	estimates := estimateAll(t, rules)
	for _, r := range rules {
		if h := recorder.JobHistory("Restore", r.name); h.LastState().Phase != "" {
			t.Errorf("restore %s began before it was estimated: %s", r.name, h.Summary())
		}
	}
	must(t, theLab.OpenGate(holder))
	for i, r := range rules {
		t.Run(r.name, func(t *testing.T) { r.compare(t, estimates[i], ended(t, "Restore", r.name)) })
	}
}

func (r rule) named() []string {
	flags := make([]string, len(r.flags))
	for i, f := range r.flags {
		flags[i] = strings.ReplaceAll(f, "{}", r.name)
	}
	return flags
}

// estimateAll asks veltui for each rule twice, a few at a time: by its flags,
// and by the restore that waits for the worker. Both must say the same.
func estimateAll(t *testing.T, rules []rule) []estimated {
	t.Helper()
	var (
		byFlags, byName = make([]estimated, len(rules)), make([]estimated, len(rules))
		errs            = make([]error, 2*len(rules))
		wait            sync.WaitGroup
		slots           = make(chan struct{}, 4)
	)
	ask := func(into *estimated, err *error, args ...string) {
		slots <- struct{}{}
		wait.Go(func() {
			*into, *err = estimate(t, append(args, "--restore-resource-priorities="+rulesPriorities)...)
			<-slots
		})
	}
	for i, r := range rules {
		ask(&byFlags[i], &errs[2*i], append([]string{"backup/rules"}, r.named()...)...)
		ask(&byName[i], &errs[2*i+1], "restore/"+r.name)
	}
	wait.Wait()
	for i, r := range rules {
		must(t, errs[2*i])
		must(t, errs[2*i+1])
		if a, b := fmt.Sprint(byFlags[i]), fmt.Sprint(byName[i]); a != b {
			t.Errorf("%s: by flags veltui estimated %s, by the restore %s", r.name, a, b)
		}
	}
	return byFlags
}

// compare holds an estimate against what Velero ended with.
func (r rule) compare(t *testing.T, e estimated, h lab.History) {
	t.Helper()
	t.Logf(
		"%d items; %s; %.1f s; assumed: %q",
		e.Items,
		h.Summary(),
		h.LastEvent().At.Sub(h.FirstInPhase("InProgress")).Seconds(),
		e.Assumptions,
	)
	if phase := h.LastState().Phase; phase != "Completed" && phase != "PartiallyFailed" {
		t.Fatalf("ended as %s: %s", phase, h.StatusText("failureReason"))
	}
	wantTold(t, h)
	if stated := slices.ContainsFunc(
		e.Assumptions,
		func(a string) bool { return strings.Contains(a, r.assumes) },
	); r.assumes != "" &&
		!stated {
		t.Errorf("assumptions %q, want one with the words %q", e.Assumptions, r.assumes)
	}
	total := 0
	if p := h.LastState().Progress; p != nil {
		total = p.Total
	}
	if r.empty != (total == 0) {
		t.Errorf("Velero restored %d items, so this rule tests something else than it says", total)
	}
	if e.Items != total {
		t.Errorf("veltui estimated %d items, Velero ended with %d", e.Items, total)
	}
	guess, truth := e.counts(), restoredCounts(t, r.name)
	for _, key := range slices.Sorted(maps.Keys(merged(guess, truth))) {
		if guess[key] != truth[key] {
			t.Errorf("%s: veltui estimated %d, Velero restored %d", key, guess[key], truth[key])
		}
	}
	if r.inOrder {
		e.wantOrder(t, r.name)
	}
}
