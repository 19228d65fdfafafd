package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// everything is operator with all optional rights that the test bed can serve.
// What reaches an object store inside the cluster is tested in package artifact.
const everything = "everything"

// holder is a user who has exactly one role.
type holder struct {
	role, user, kubeconfig string
	// manifest is what `veltui rbac` printed, as keys of requests.
	manifest map[string]bool
	outcomes []outcomeOf
	// seen is how many of its requests belong to commands that are over.
	seen int
}

// outcomeOf is what one command did under a role.
type outcomeOf struct {
	code    int
	output  string
	refused []testbed.RecordedRequest // by RBAC
	denied  []testbed.RecordedRequest // rights that were asked for and are not there
}

// rbacCommand is a row of the table in docs/rbac.md. ROLE in args stands for the
// role, so that each has jobs of its own to change.
type rbacCommand struct {
	shown, args string
	// decides is the right without which the command is refused, where its exit
	// code does not tell: the test bed has no kubelet that would serve a log.
	decides string
	run     func(t *testing.T, h *holder, cmd *exec.Cmd) (int, string)
	// live commands ask more as time goes by; only that they work is compared.
	live bool
	// reviewed commands ask what they may do, and do less if they may not.
	reviewed bool
}

var rbacCommands = []rbacCommand{
	{shown: "`get restore/NAME -w`", args: "get -n velero restore/rights-ROLE -w", run: untilInterrupted, live: true},
	{shown: "`get storage -w`", args: "get -n velero storage -w", run: untilInterrupted, live: true},
	{shown: "`check`", args: "check -n velero"},
	{shown: "`wait`", args: "wait -n velero restore/rights-done"},
	{shown: "`explain` of a restore", args: "explain -n velero restore/rights-ROLE"},
	{shown: "`explain` of a backup whose volumes wait", args: "explain -n velero backup/rights-moving"},
	{shown: "`explain` of a backup that the server lost", args: "explain -n velero backup/rights-lost"},
	{shown: "`explain --artifacts`", args: "explain -n velero backup/rights-moving --artifacts", reviewed: true},
	{shown: "`describe`", args: "describe -n velero restore/rights-done"},
	{shown: "`results`", args: "results -n velero restore/rights-done"},
	{shown: "`results` of a job that goes on", args: "results -n velero restore/rights-ROLE", decides: "logs"},
	{shown: "`logs`", args: "logs -n velero restore/rights-done"},
	{shown: "`logs` of a job that goes on", args: "logs -n velero restore/rights-ROLE", decides: "logs"},
	{shown: "`logs --volumes`", args: "logs -n velero backup/rights-moving --volumes", decides: "logs"},
	{shown: "`estimate`", args: "estimate -n velero backup/rights-stored"},
	{shown: "`verify`", args: "verify -n velero restore/rights-done"},
	{shown: "`preflight`", args: "preflight -n velero backup/rights-stored", decides: "downloads"},
	{shown: "`coverage`", args: "coverage -n velero", decides: "downloads", reviewed: true},
	{shown: "`report`", args: "report -n velero restore/rights-done"},
	// By now nothing has changed for a while, so that get takes a closer look, as check does.
	{shown: "`get`", args: "get -n velero"},
	{shown: "`get`, without a namespace", args: "get"},
	{shown: "`finalize --dry-run`", args: "finalize -n velero restore/rights-ROLE --phase Failed --dry-run=server"},
	{shown: "`finalize`", args: "finalize -n velero restore/rights-ROLE --phase Failed --yes --observe 1s"},
	{shown: "`finalize --wake`", args: "finalize -n velero backup/rights-wake-ROLE --wake --yes --observe 1s"},
	{
		shown: "`finalize --cancel-volumes`",
		args:  "finalize -n velero backup/rights-failed-ROLE --cancel-volumes --yes --observe 1s",
	},
	{
		shown: "`finalize --cancel-volumes` of a restore",
		args:  "finalize -n velero restore/rights-failed-ROLE --cancel-volumes --yes --observe 1s",
	},
	{
		shown:   "`restore create`",
		args:    "restore create -n velero rights-new-ROLE --from-backup rights-stored --preflight none --yes --observe 1s",
		decides: "create-restores",
	},
	{
		shown:   "`restore create --only`",
		args:    "restore create -n velero rights-only-ROLE --from-backup rights-stored --only secrets/shop/db --preflight none --yes",
		decides: "create-restores",
		run:     takenUp,
	},
	{
		shown:   "`backup create`",
		args:    "backup create -n velero rights-new-ROLE --from-schedule rights-policy --yes --observe 1s",
		decides: "create-backups",
	},
	{
		shown:   "`schedule pause`",
		args:    "schedule pause -n velero rights-ROLE --yes --observe 1s",
		decides: "pause-schedules",
	},
	{
		shown:   "`backup delete`",
		args:    "backup delete -n velero rights-gone-ROLE --yes --last-copy --observe 1s",
		decides: "delete-backups",
	},
	{
		shown:   "`restore delete`",
		args:    "restore delete -n velero rights-gone-ROLE --yes --observe 1s",
		decides: "delete-restores",
	},
	{shown: "`audit`", args: "audit"},
	{shown: "`etcd`", args: "etcd"},
	{shown: "the dashboard", args: "-n velero", run: onTheDashboard, live: true},
	{shown: "`--plain`", args: "--plain -n velero", run: inPlainWords, live: true},
}

// TestRoles runs every command under exactly each role, on a real API server.
// What a command may do is held equal to docs/rbac.md, and what the API server
// was asked to the manifest: a right that nothing uses fails the test, and a
// request that no right names too.
//
// The test does not run beside others: a command takes a closer look at few jobs at most, and jobs of other tests would
// take the place of those that need rights.
func TestRoles(t *testing.T) {
	skipUnderRace(t)
	b := control(t)
	b.rightsCluster(t)
	holders := []*holder{}
	for _, role := range append(slices.Clone(rbacRoles), everything) {
		holders = append(holders, b.holder(t, role))
	}
	var all sync.WaitGroup
	for _, h := range holders {
		all.Go(func() {
			for _, c := range rbacCommands {
				h.outcomes = append(h.outcomes, b.under(t, h, c))
			}
		})
	}
	all.Wait()
	if slices.ContainsFunc(holders, func(h *holder) bool { return len(h.outcomes) < len(rbacCommands) }) {
		return // a command did not get to its end, and has said why
	}
	reference := holders[len(holders)-1]
	var table strings.Builder
	table.WriteString("| command | viewer | artifacts | operator |\n|---|---|---|---|\n")
	for i, c := range rbacCommands {
		fmt.Fprintf(&table, "| %s |", c.shown)
		for _, h := range holders {
			cell := c.cell(t, h, i, reference)
			switch {
			case h != reference:
				fmt.Fprintf(&table, " %s |", cell)
			case cell != "works":
				t.Errorf("%s: with every right it is %q\n%s", c.shown, cell, h.outcomes[i].output)
			}
		}
		table.WriteString("\n")
	}
	checkDocumented(t, "commands", table.String())
	for _, h := range holders {
		b.checkUsed(t, h)
	}
}

// cell says how a command went, compared with who has every right.
func (c *rbacCommand) cell(t *testing.T, h *holder, i int, reference *holder) string {
	o, with := h.outcomes[i], reference.outcomes[i]
	if c.reviewed {
		o.refused = slices.Concat(o.refused, o.denied)
	}
	lost := rightsOf(t, c.shown+" as "+h.role, o.refused)
	if o.code == with.code && !slices.Contains(lost, c.decides) {
		if len(lost) == 0 || c.live {
			return "works"
		}
		return "works without " + strings.Join(lost, ", ")
	}
	if !strings.Contains(o.output, "may not") && !strings.Contains(o.output, "forbidden") {
		t.Errorf(
			"%s as %s: exit code %d, with every right %d, and no clear refusal:\n%s\nwith every right:\n%s",
			c.shown,
			h.role,
			o.code,
			with.code,
			o.output,
			with.output,
		)
	}
	if c.decides != "" {
		return "refused: needs " + c.decides
	}
	// Of all that is missing, the role's own part is what refuses it.
	needed := slices.DeleteFunc(
		rightsOf(t, c.shown+" as "+h.role, slices.Concat(o.refused, o.denied)),
		func(name string) bool {
			r := loadRights()[slices.IndexFunc(loadRights(), func(r roleRight) bool { return r.Name == name })]
			return r.Optional && name != "etcd" && name != "checks"
		},
	)
	return "refused: needs " + strings.Join(needed, ", ")
}

// rightsOf are the names of the rights that would have allowed what was refused.
func rightsOf(t *testing.T, what string, refused []testbed.RecordedRequest) []string {
	var names []string
	for _, a := range refused {
		found := slices.IndexFunc(loadRights(), func(r roleRight) bool { return r.allows(&a) })
		switch {
		case a.Namespace == "openshift-adp" && (a.Resource == "backupstoragelocations" || a.Resource == "namespaces"):
			// The search by those who may not list locations in the whole cluster.
		case found >= 0:
			if name := loadRights()[found].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		default:
			t.Errorf("%s asks to %s, which no right names", what, requestKey(&a))
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		at := func(name string) int {
			return slices.IndexFunc(loadRights(), func(r roleRight) bool { return r.Name == name })
		}
		return cmp.Compare(at(x), at(y))
	})
	return names
}

// allows reports whether a right allows a request.
func (r *roleRight) allows(a *testbed.RecordedRequest) bool {
	rules, namespace := r.Rules, cmp.Or(r.Namespace, "velero")
	if a.Namespace == "" || r.everywhere() {
		rules, namespace = r.ClusterRules, a.Namespace
	}
	return namespace == a.Namespace && slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return (r.everywhere() || slices.Contains(rule.APIGroups, a.Group) && slices.Contains(rule.Resources, a.Resource)) &&
			slices.Contains(rule.Verbs, a.Verb)
	})
}

// everywhere reports whether a right holds for all kinds in all namespaces.
func (r *roleRight) everywhere() bool {
	return len(r.ClusterRules) == 1 && slices.Contains(r.ClusterRules[0].Resources, "*")
}

// allKinds is the key of a right to list all kinds, which no request has.
var allKinds = requestKey(&testbed.RecordedRequest{Verb: "list", Group: "*", Resource: "*"})

func requestKey(a *testbed.RecordedRequest) string {
	if a.Resource == "namespaces" {
		// The API server asks for the right to a namespace within that namespace, too.
		return fmt.Sprintf("%s namespaces. in \"\"", a.Verb)
	}
	return fmt.Sprintf("%s %s.%s in %q", a.Verb, a.Resource, a.Group, a.Namespace)
}

// checkUsed holds what the API server allowed by our bindings against the
// manifest, both ways.
func (b *bed) checkUsed(t *testing.T, h *holder) {
	used := map[string]bool{}
	asked, err := b.RecordedRequests()
	if err != nil {
		t.Fatal(err)
	}
	for i := range asked {
		if a := &asked[i]; a.User == h.user && a.Allowed && strings.Contains(a.GrantedBy, "veltui-") {
			used[requestKey(a)] = true
		}
	}
	for key := range used {
		if h.manifest[allKinds] && !h.manifest[key] && strings.HasPrefix(key, "list ") {
			used[allKinds] = true
			delete(used, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.manifest)) {
		if !used[key] {
			t.Errorf("%s: no command uses the right to %s", h.role, key)
		}
	}
	for key := range used {
		if !h.manifest[key] {
			t.Errorf("%s: used and not in the manifest: %s", h.role, key)
		}
	}
}

// holder makes a user who has one role, bound by its own manifest, and a way to
// the API server whose clock is ahead, so that what was made a moment ago is
// silent.
func (b *bed) holder(t *testing.T, role string) *holder {
	h := &holder{role: role, user: "rights-" + role, manifest: map[string]bool{}}
	args := []string{role, "--group", h.user, "-o", "json"}
	if role == everything {
		args = append([]string{"operator", "--with", strings.Join(optionalRightNames(), ",")}, args[1:]...)
	}
	for _, u := range b.apply(t, h.user, args...) {
		rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
		for _, rule := range rules {
			rule := rule.(map[string]any)
			for _, group := range rule["apiGroups"].([]any) {
				for _, resource := range rule["resources"].([]any) {
					for _, verb := range rule["verbs"].([]any) {
						h.manifest[requestKey(&testbed.RecordedRequest{Verb: verb.(string), Group: group.(string), Resource: resource.(string), Namespace: u.GetNamespace()})] = true
					}
				}
			}
		}
	}
	for key := range h.manifest {
		b.granted(t, h.user, key)
	}
	config, err := b.AddUser(h.user, h.user, testbed.RecordedGroup)
	if err != nil {
		t.Fatal(err)
	}
	b.apply(t, h.user, "policy", "--group", h.user, "-o", "json")
	if role != rbacRoles[0] { // a viewer may write nothing
		b.limited(t, config, role != rbacRoles[1])
	}
	var broken atomic.Bool
	h.kubeconfig = b.proxiedAs(
		t,
		config,
		"rights-"+role,
		40*time.Minute,
		func(w http.ResponseWriter, r *http.Request) bool {
			// One watch breaks off, so that the request is looked at.
			return strings.Contains(r.URL.Path, "downloadrequests") && r.URL.Query().Get("watch") == "true" &&
				broken.CompareAndSwap(false, true)
		},
	)
	return h
}

// limited waits until the policy is in force for a user, whose rights say whether they patch jobs: a refusal by RBAC
// would count as one of their commands'.
func (b *bed) limited(t *testing.T, config *rest.Config, patches bool) {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	moving := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "rights-moving"}}
	labelled := download("labelled", func(m *metav1.ObjectMeta) { m.Labels = map[string]string{"a": "b"} })
	eventually(t, "the policy is in force", func() bool {
		if !deniedByPolicy(c.Create(t.Context(), labelled.DeepCopy(), client.DryRunAll)) {
			return false
		}
		if !patches {
			return true
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		return apierrors.IsForbidden(c.Patch(t.Context(), moving.DeepCopy(), patch, client.DryRunAll))
	})
}

// granted waits until RBAC has heard of a right.
func (b *bed) granted(t *testing.T, group, key string) {
	t.Helper()
	var verb, resource, namespace string
	if _, err := fmt.Sscanf(key, "%s %s in %q", &verb, &resource, &namespace); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	name, apiGroup, _ := strings.Cut(resource, ".")
	name, subresource, _ := strings.Cut(name, "/")
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			Groups: []string{group},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb:        verb,
				Group:       apiGroup,
				Resource:    name,
				Subresource: subresource,
				Namespace:   namespace,
			},
		},
	}
	switch key {
	case "get customresourcedefinitions.apiextensions.k8s.io in \"\"":
		review.Spec.ResourceAttributes.Name = "backups.velero.io"
	case "get namespaces. in \"\"":
		review.Spec.ResourceAttributes.Name = metav1.NamespaceSystem
	}
	eventually(t, group+" may "+key, func() bool {
		asked := review.DeepCopy()
		return b.client.Create(t.Context(), asked) == nil && asked.Status.Allowed
	})
}

// apply creates what `veltui rbac` prints, as kubectl apply would, under names of
// the holder's own.
func (b *bed) apply(t *testing.T, suffix string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := runRBAC(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%v in %s", err, out)
	}
	var objects []*unstructured.Unstructured
	for _, item := range list.Items {
		u := &unstructured.Unstructured{Object: item}
		u.SetName(u.GetName() + "-" + suffix)
		for _, path := range [][]string{{"roleRef", "name"}, {"spec", "policyName"}} {
			if name, there, _ := unstructured.NestedString(u.Object, path...); there {
				_ = unstructured.SetNestedField(u.Object, name+"-"+suffix, path...)
			}
		}
		b.create(t, u)
		objects = append(objects, u)
	}
	return objects
}

// under runs one command as a holder, and takes from the API server's audit log
// what it asked.
func (b *bed) under(t *testing.T, h *holder, c rbacCommand) (o outcomeOf) {
	args := strings.Fields(strings.ReplaceAll(c.args, "ROLE", h.role))
	cmd := through(h.kubeconfig, b.command(t, args...))
	if c.run != nil {
		o.code, o.output = c.run(t, h, cmd)
	} else {
		out, err := cmd.CombinedOutput()
		o.code, o.output = exitOf(err), string(out)
	}

	asked := b.recordOf(t, h)
	asked, h.seen = asked[min(h.seen, len(asked)):], len(asked)
	for _, a := range asked {
		switch {
		case !a.Allowed && a.Resource != "":
			o.refused = append(o.refused, a)
		case a.Review != nil && !a.Granted:
			r := a.Review
			o.denied = append(
				o.denied,
				testbed.RecordedRequest{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace},
			)
		}
	}
	return o
}

// recordOf is all that a holder has asked, up to a last request that says so.
func (b *bed) recordOf(t *testing.T, h *holder) (asked []testbed.RecordedRequest) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	if err != nil {
		t.Error(err)
		return nil
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Error(err)
		return nil
	}
	mark := fmt.Sprintf("/version?mark=%d", time.Now().UnixNano())
	if _, err := c.Discovery().RESTClient().Get().RequestURI(mark).DoRaw(t.Context()); err != nil {
		t.Error(err)
		return nil
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		all, err := b.RecordedRequests()
		if err != nil {
			t.Error(err)
			return nil
		}
		all = slices.DeleteFunc(all, func(a testbed.RecordedRequest) bool { return a.User != h.user })
		if slices.ContainsFunc(all, func(a testbed.RecordedRequest) bool { return a.Path == mark }) {
			return all
		}
	}
	t.Errorf("the audit log does not have %s", mark)
	return nil
}

// takenUp has Velero begin the restore that a command creates.
func takenUp(t *testing.T, h *holder, cmd *exec.Cmd) (int, string) {
	ended := make(chan struct{})
	var begun sync.WaitGroup
	b := control(t)
	begun.Go(func() {
		for o := restore("rights-only-"+h.role, veleroapi.RestoreStatus{}); ; time.Sleep(100 * time.Millisecond) {
			select {
			case <-ended:
				return
			default:
			}
			if b.client.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil {
				o.Status.Phase = veleroapi.RestorePhaseInProgress
				_ = b.client.Update(t.Context(), o) // else once more
			}
		}
	})
	out, err := cmd.CombinedOutput()
	close(ended)
	begun.Wait()
	return exitOf(err), string(out)
}

func untilInterrupted(t *testing.T, _ *holder, cmd *exec.Cmd) (int, string) {
	p := startPipe(t, cmd)
	p.hears(t, "rights-")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	err := cmd.Wait()
	return exitOf(err), p.said()
}

func inPlainWords(t *testing.T, _ *holder, cmd *exec.Cmd) (int, string) {
	p := startPipe(t, cmd)
	p.hears(t, "on context local")
	p.types(t, "list")
	p.hears(t, "rights-moving")
	p.types(t, "quit")
	err := cmd.Wait()
	return exitOf(err), p.said()
}

// onTheDashboard opens one volume of each kind, which reads its resource.
func onTheDashboard(t *testing.T, _ *holder, cmd *exec.Cmd) (int, string) {
	c := startConsole(t, cmd, 160, 50)
	c.sees(t, "rights-moving", "live")
	for _, volumes := range []struct{ job, data, pod string }{{"backup rights-moving", "rights-du", "rights-pvb"}, {"restore rights-volumes", "rights-dd", "rights-pvr"}} {
		c.types(t, ":"+volumes.job+"\r5")
		c.sees(
			t,
			"[5 Volumes 2]",
			"shop/mail-0",
		) // the row; the line above the rows may name shop/pg before they are there
		c.types(t, "/shop/pg\r\r")
		c.sees(t, "Spec of "+volumes.data)
		c.types(t, "/shop/mail-0\r\r")
		c.sees(t, "Spec of "+volumes.pod)
	}
	c.types(t, "q")
	return c.exits(t), c.ScreenText()
}
