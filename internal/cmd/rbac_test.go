package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

var update = flag.Bool("update", false, "write the tables of docs/rbac.md anew")

const rbacDoc = "../../docs/rbac.md"

// checkDocumented holds a table of docs/rbac.md equal to what it is made from.
// It stands between two comments, of which the first begins with its name.
func checkDocumented(t *testing.T, name, want string) {
	t.Helper()
	data, err := os.ReadFile(rbacDoc)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	at := strings.Index(doc, "<!-- "+name+":")
	if at < 0 {
		t.Fatalf("%s has no table %s", rbacDoc, name)
	}
	begin := at + strings.Index(doc[at:], "\n") + 1
	end := begin + strings.Index(doc[begin:], "<!-- end -->")
	if doc[begin:end] == want {
		return
	}
	if !*update {
		t.Errorf("%s is out of date: go test ./internal/cmd -run %s -update", rbacDoc, t.Name())
		documented, wanted := strings.Split(doc[begin:end], "\n"), strings.Split(want, "\n")
		for i := range max(len(documented), len(wanted)) {
			if d, w := lineAt(documented, i), lineAt(wanted, i); d != w {
				t.Errorf("is   %s\nwant %s", d, w)
			}
		}
		return
	}
	if err := os.WriteFile(rbacDoc, []byte(doc[:begin]+want+doc[end:]), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runRBAC is `veltui rbac` in this process: it needs neither cluster nor terminal.
func runRBAC(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := newCLI(os.Stdin, os.Stdout, os.Stderr)
	c.stdio.streams = genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	c.process.getenv = func(string) string { return "" }
	root := newRootCommand(c, "veltui")
	root.SetArgs(append([]string{"rbac"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestRights(t *testing.T) {
	for _, role := range rbacRoles {
		var table strings.Builder
		table.WriteString("| right | | rules | for | without it |\n|---|---|---|---|---|\n")
		for _, r := range loadRights() {
			if r.Role != role {
				continue
			}
			if r.Name == "" || r.Purpose == "" || r.Consequence == "" || len(r.Rules)+len(r.ClusterRules) == 0 ||
				!slices.Contains(rbacRoles, r.Role) {
				t.Errorf("%+v", r)
			}
			optional, where := "", ""
			if r.Optional {
				optional = "optional"
			}
			switch r.Namespace {
			case "":
			case storeNamespacePlaceholder:
				where = " in the store's namespace"
			default:
				where = " in namespace " + r.Namespace
			}
			var rules []string
			for _, rule := range r.Rules {
				rules = append(rules, ruleText(rule)+where)
			}
			for _, rule := range r.ClusterRules {
				rules = append(rules, ruleText(rule)+" in the whole cluster")
			}
			fmt.Fprintf(
				&table,
				"| %s | %s | %s | %s | %s |\n",
				r.Name,
				optional,
				strings.Join(rules, "; "),
				r.Purpose,
				r.Consequence,
			)
		}
		checkDocumented(t, "rights "+role, table.String())
	}
}

// ruleText is a rule as a person says it.
func ruleText(r rbacv1.PolicyRule) string {
	text := strings.Join(r.Verbs, ", ") + " " + strings.Join(r.Resources, ", ")
	if r.APIGroups[0] != "" {
		text += " (" + r.APIGroups[0] + ")"
	}
	if len(r.ResourceNames) > 0 {
		text += " named " + strings.Join(r.ResourceNames, ", ")
	}
	return text
}

func TestRBACRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "expected viewer, artifacts, operator or policy"},
		{[]string{"owner"}, "expected viewer, artifacts, operator or policy"},
		{[]string{"viewer", "operator"}, "expected viewer, artifacts, operator or policy"},
		{[]string{"viewer", "--with", "everything"}, "no such right"},
		{[]string{"viewer", "--with", "object-store"}, "no such right"},
		{[]string{"viewer", "--store-namespace", "minio"}, "for artifacts and operator"},
		{[]string{"viewer", "-n", "a b"}, "not a valid namespace name"},
		{[]string{"viewer", "-o", "wide"}, "expected yaml or json"},
		{[]string{"viewer", "--group", " "}, "empty"},
		{[]string{"viewer", "--service-account", "velero"}, "expected NAMESPACE:NAME"},
		{[]string{"viewer", "--name", "A b"}, "--name"},
		{[]string{"policy"}, "name the operators"},
		{[]string{"policy", "--user", "a", "--with", "logs"}, "for roles"},
		{[]string{"policy", "--group", "system:authenticated"}, "would limit Velero itself"},
		{[]string{"policy", "--service-account", "velero:velero"}, "would limit Velero itself"},
		{[]string{"policy", "--user", "system:serviceaccount:velero:velero"}, "would limit Velero itself"},
		{[]string{"policy", "--service-account", "velero:velero-server"}, "begins with velero"},
		{[]string{"policy", "--user", "system:serviceaccount:velero:velero-server"}, "could then not write"},
		{[]string{"policy", "--group", "system:serviceaccounts:velero"}, "would limit Velero itself"},
	} {
		if out, err := runRBAC(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("%q: %v, printed %q", c.args, err, out)
		}
	}
}

// Manifests for different people do not replace each other under names of their own.
func TestRBACNames(t *testing.T) {
	names := func(args ...string) (all []string) {
		out, err := runRBAC(t, append(args, "--group", "g", "-o", "json")...)
		var list struct {
			Items []struct {
				Kind     string
				Metadata struct{ Name string }
				RoleRef  struct{ Name string }
				Spec     struct{ PolicyName string }
			}
		}
		if err := errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil {
			t.Fatal(err)
		}
		for _, i := range list.Items {
			all = append(all, strings.TrimSpace(i.Kind+" "+i.Metadata.Name+" "+i.RoleRef.Name+i.Spec.PolicyName))
		}
		return all
	}
	policies := func(name string) string {
		var all []string
		for _, n := range []string{name, name + "-writers", name + "-schedules", name + "-create", name + "-delete", name + "-selections", name + "-create-delete", name + "-events"} {
			all = append(all, "ValidatingAdmissionPolicy "+n, "ValidatingAdmissionPolicyBinding "+n+" "+n)
		}
		return strings.Join(all, "|")
	}
	for _, c := range []struct{ args, want string }{
		{"operator --with search", "Role veltui-operator|RoleBinding veltui-operator veltui-operator|ClusterRole veltui-operator-velero|ClusterRoleBinding veltui-operator-velero veltui-operator-velero"},
		{"operator --with search --name dba", "Role dba|RoleBinding dba dba|ClusterRole dba-velero|ClusterRoleBinding dba-velero dba-velero"},
		{"policy -n adp", policies("veltui-operator-adp")},
		{"policy -n adp --name dba", policies("dba-adp")},
	} {
		if got := strings.Join(names(strings.Fields(c.args)...), "|"); got != c.want {
			t.Errorf("%s: %s", c.args, got)
		}
	}
}
