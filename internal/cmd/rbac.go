package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/assets"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/document"
)

const rbacPolicy = "policy"

type rbacFlags struct {
	out                                         io.Writer
	namespace, objectStoreNamespace, namePrefix string
	optionalRights                              []string
	groups, users, serviceAccount               []string
	output                                      string
}

func newRBACCommand(c *cli) *cobra.Command {
	f := rbacFlags{out: c.stdio.streams.Out}
	cmd := &cobra.Command{
		Use:   "rbac viewer|artifacts|operator|policy",
		Short: "Print the roles that veltui needs, as manifests for kubectl apply",
		Long: `Print the roles that veltui needs, as manifests for kubectl apply. rbac
contacts no cluster and changes nothing.

viewer     looks at backups and restores, and at what they wait for
artifacts  also reads what is stored: logs, results, contents of backups. Anyone
           with this role can read every Secret in every backup
operator   also finalizes, wakes, cancels volumes, and writes an Event about it; --with
           create-restores, delete-backups and the like also does that
policy     limits what the people you name may create, change and delete to what
           veltui writes, with ValidatingAdmissionPolicies (Kubernetes 1.30 and newer).
           It fits every role that writes: artifacts creates DownloadRequests

Each role has the rights of those before it. --with adds optional rights; the
manifest says what you lose without each. --group, --user and --service-account
bind the role; for policy they name the people whom it limits. No role lets preflight --dry-run
ask as Velero's service account (verb impersonate): that gives all of its rights.

kubectl apply replaces what has the same name: a second manifest for other people
takes the role, or the limits of the policy, from the first. Name everybody in
one manifest, or give each manifest a --name of its own.`,
		Example: `  # Let a group look at the Velero in namespace velero
  veltui rbac viewer --group backup-viewers | kubectl apply -f -

  # With live logs, and the namespaces that a restore waits for
  veltui rbac viewer --with logs,namespaces --group backup-viewers | kubectl apply -f -

  # Let on-call people finalize, and change no more than veltui does
  veltui rbac operator --group on-call | kubectl apply -f -
  veltui rbac policy --group on-call | kubectl apply -f -

  # One policy for the people of two roles
  veltui rbac policy --group on-call --group backup-admins | kubectl apply -f -

  # For a pod of namespace tools, and a Velero in openshift-adp
  veltui rbac artifacts -n openshift-adp --service-account tools:veltui | kubectl apply -f -

  # The same for another team, beside the first
  veltui rbac operator --name dba-restore --group dba | kubectl apply -f -
  veltui rbac policy --name dba-restore --group dba | kubectl apply -f -

  # Every verb of a role, for a review
  veltui rbac operator -o json | jq -c '.items[].rules[]?'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return usageErrorf("expected viewer, artifacts, operator or policy\nSee '%s --help'.", cmd.CommandPath())
			}
			return nil
		},
		ValidArgs: append(slices.Clone(rbacRoles), rbacPolicy),
		RunE: func(_ *cobra.Command, args []string) error {
			f.namespace = cmp.Or(c.connector.flags.Context.Namespace, c.process.getenv("VELERO_NAMESPACE"), "velero")
			return f.printManifest(args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(
		&f.optionalRights,
		"with",
		nil,
		"Optional rights to add: "+strings.Join(optionalRightNames(), ", "),
	)
	flags.StringVar(
		&f.objectStoreNamespace,
		"store-namespace",
		"",
		"Namespace of an object store that only the cluster can reach: adds the rights to reach it (artifacts, operator)",
	)
	flags.StringArrayVar(&f.groups, "group", nil, "Group to bind the role to")
	flags.StringArrayVar(&f.users, "user", nil, "User to bind the role to")
	flags.StringArrayVar(
		&f.serviceAccount,
		"service-account",
		nil,
		"Service account to bind the role to, as NAMESPACE:NAME",
	)
	flags.StringVar(
		&f.namePrefix,
		"name",
		"",
		"Begin all names in the manifest with this (default veltui-ROLE); kubectl apply replaces what has the same name",
	)
	addOutputFlag(cmd, &f.output, "yaml", "json")
	completeFlag(cmd, "with", completeCommaList(optionalRightNames()))
	completeFlag(cmd, "store-namespace", c.settings.completeValues(c.connector.fetchNamespaces))
	return cmd
}

func (f *rbacFlags) printManifest(what string) error {
	subjects, err := f.checkUsage(what)
	if err != nil {
		return err
	}
	var manifest []byte
	if what == rbacPolicy {
		manifest, err = buildPolicyManifest(f, subjects)
	} else {
		manifest, err = buildRoleManifest(what, f, subjects)
	}
	if err == nil && f.output == "json" {
		manifest, err = manifestJSON(manifest)
	}
	if err != nil {
		return err
	}
	_, err = f.out.Write(manifest)
	return err
}

func (f *rbacFlags) checkUsage(what string) ([]roleSubject, error) {
	for flag, namespace := range map[string]string{"namespace": f.namespace, "store-namespace": f.objectStoreNamespace} {
		if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
			return nil, usageErrorf("--%s: %q is not a valid namespace name: %s", flag, namespace, wrong[0])
		}
	}
	if wrong := validation.IsDNS1123Subdomain(f.namePrefix + "-" + f.namespace); f.namePrefix != "" && len(wrong) > 0 {
		return nil, usageErrorf("--name %q: %s", f.namePrefix, wrong[0])
	}
	for _, name := range f.optionalRights {
		if !slices.Contains(optionalRightNames(), name) {
			return nil, usageErrorf(
				"--with %s: there is no such right; there are %s",
				name,
				human.JoinNames(optionalRightNames(), 20),
			)
		}
		r := &loadRights()[slices.IndexFunc(loadRights(), func(r roleRight) bool { return r.Name == name })]
		if what != rbacPolicy && !r.appliesTo(what) {
			return nil, usageErrorf(
				"--with %s: this right is for %s",
				name,
				human.JoinNames(rbacRoles[slices.Index(rbacRoles, r.Role):], 3),
			)
		}
	}
	switch {
	case what == rbacPolicy && (len(f.optionalRights) > 0 || f.objectStoreNamespace != ""):
		return nil, usageErrorf("--with and --store-namespace are for roles")
	case f.objectStoreNamespace != "" && what == rbacRoles[0]:
		return nil, usageErrorf("--store-namespace is for artifacts and operator")
	}
	subjects, err := f.parseSubjects()
	if err != nil || what != rbacPolicy {
		return subjects, err
	}
	if len(subjects) == 0 {
		return nil, usageErrorf(
			"name the operators, and who else the policy limits, with --group, --user or --service-account",
		)
	}
	for _, s := range subjects {
		if s.includesVelero(f.namespace) {
			return nil, usageErrorf(
				"the policy would limit Velero itself, which could then not write how its jobs go: %s is or holds a service "+
					"account of namespace %s whose name begins with velero",
				s.Name,
				f.namespace,
			)
		}
	}
	return subjects, nil
}

func manifestJSON(manifest []byte) ([]byte, error) {
	list := struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{APIVersion: "v1", Kind: "List"}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("writing the manifest: %w", err)
		}
		list.Items = append(list.Items, data)
	}
	return document.Encode(list, "  ")
}

// rbacRoles are the roles; each includes the rights of those before it.
var rbacRoles = []string{"viewer", "artifacts", "operator"}

// roleRight is one of assets/rbac/rights.yaml.
type roleRight struct {
	Name         string              `json:"name"`
	Role         string              `json:"role"`
	Optional     bool                `json:"optional"`
	Purpose      string              `json:"for"`       // what veltui does with it
	Consequence  string              `json:"without"`   // what is lost without it
	Namespace    string              `json:"namespace"` // where Rules hold, if not in Velero's
	Rules        []rbacv1.PolicyRule `json:"rules"`
	ClusterRules []rbacv1.PolicyRule `json:"clusterRules"`
}

const storeNamespacePlaceholder = "STORE" // in a right, stands for --store-namespace

var loadRights = sync.OnceValue(func() []roleRight {
	data, err := assets.RBAC.ReadFile("rbac/rights.yaml")
	var all []roleRight
	if err == nil {
		err = yaml.UnmarshalStrict(data, &all)
	}
	if err != nil {
		panic(err) // the file is embedded, and TestRights reads it
	}
	return all
})

func optionalRightNames() []string {
	var names []string
	for _, r := range loadRights() {
		if r.Optional && r.Namespace != storeNamespacePlaceholder {
			names = append(names, r.Name)
		}
	}
	return names
}

// appliesTo reports whether a role includes the right, or may include it.
func (r *roleRight) appliesTo(role string) bool {
	return slices.Index(rbacRoles, r.Role) <= slices.Index(rbacRoles, role)
}

type roleSubject rbacv1.Subject

func (f *rbacFlags) parseSubjects() ([]roleSubject, error) {
	var subjects []roleSubject
	for _, g := range f.groups {
		subjects = append(subjects, roleSubject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: g})
	}
	for _, u := range f.users {
		subjects = append(subjects, roleSubject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: u})
	}
	for _, s := range subjects {
		if strings.TrimSpace(s.Name) == "" {
			return nil, usageErrorf("the name of a %s is empty", strings.ToLower(s.Kind))
		}
	}
	for _, a := range f.serviceAccount {
		namespace, name, _ := strings.Cut(a, ":")
		if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, usageErrorf("--service-account %q: expected NAMESPACE:NAME", a)
		}
		subjects = append(subjects, roleSubject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	return subjects, nil
}

// includesVelero reports whether a subject is, or contains, Velero's service account. `velero install` names it
// velero; the Helm chart names it velero-server or after its release.
func (s roleSubject) includesVelero(namespace string) bool {
	return s.Namespace == namespace && strings.HasPrefix(s.Name, "velero") ||
		s.Kind == rbacv1.UserKind && strings.HasPrefix(s.Name, "system:serviceaccount:"+namespace+":velero") ||
		s.Kind == rbacv1.GroupKind &&
			slices.Contains(
				[]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace},
				s.Name,
			)
}

func (s roleSubject) celExpression() string {
	switch s.Kind {
	case rbacv1.GroupKind:
		return quoteString(s.Name) + " in request.userInfo.groups"
	case rbacv1.ServiceAccountKind:
		return "request.userInfo.username == " + quoteString("system:serviceaccount:"+s.Namespace+":"+s.Name)
	}
	return "request.userInfo.username == " + quoteString(s.Name)
}

// quoteString quotes a string as JSON, which is also valid YAML and CEL.
func quoteString(text string) string {
	data, _ := json.Marshal(text) // encoding a string cannot fail
	return string(data)
}

func buildPolicyManifest(f *rbacFlags, named []roleSubject) ([]byte, error) {
	data, err := assets.RBAC.ReadFile("rbac/policy.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	who := mapSlice(named, roleSubject.celExpression)
	values := strings.NewReplacer(
		"$(NAME)",
		cmp.Or(f.namePrefix, "veltui-operator")+"-"+f.namespace,
		"$(NAMESPACE)",
		f.namespace,
		"$(WHO)",
		strings.Join(who, " || "),
	)
	return []byte(values.Replace(string(data))), nil
}

// buildRoleManifest returns the manifests of a role with the chosen rights, of its parts in other namespaces, and of
// the bindings.
func buildRoleManifest(role string, f *rbacFlags, subjects []roleSubject) ([]byte, error) {
	m := manifestBuilder{
		namePrefix:      cmp.Or(f.namePrefix, "veltui-"+role),
		veleroNamespace: f.namespace,
		subjects:        subjects,
	}
	fmt.Fprintf(&m.text, "# Rights of veltui's role %s, for the Velero in namespace %s.\n", role, f.namespace)
	var places []string // namespaces, empty for the whole cluster
	in := map[string][]string{}
	grant := func(place string, r *roleRight, rules []rbacv1.PolicyRule) {
		if len(rules) == 0 {
			return
		}
		places = appendUnique(places, place)
		in[place] = append(in[place], rulesText(r, rules))
	}
	for i := range loadRights() {
		switch r := &loadRights()[i]; {
		case !r.appliesTo(role):
		case !r.Optional,
			slices.Contains(f.optionalRights, r.Name),
			r.Namespace == storeNamespacePlaceholder && f.objectStoreNamespace != "":
			place := cmp.Or(r.Namespace, f.namespace)
			if place == storeNamespacePlaceholder {
				place = f.objectStoreNamespace
			}
			grant(place, r, r.Rules)
			grant("", r, r.ClusterRules)
		default:
			flag := "--with " + r.Name
			if r.Namespace == storeNamespacePlaceholder {
				flag = "--store-namespace"
			}
			fmt.Fprintf(&m.text, "# Not in it: %s (%s). Without it %s.\n", r.Name, flag, r.Consequence)
		}
	}
	for _, place := range places {
		m.addRole(place, in[place])
	}
	return m.text.Bytes(), nil
}

type manifestBuilder struct {
	namePrefix, veleroNamespace string // namePrefix is the prefix of all names
	subjects                    []roleSubject
	text                        bytes.Buffer
	hasObjects                  bool
}

func (m *manifestBuilder) addRole(namespace string, rules []string) {
	kind, where, name := "Role", "  namespace: "+namespace+"\n", m.namePrefix+"-"+m.veleroNamespace
	switch namespace {
	case "":
		kind, where = "ClusterRole", ""
	case m.veleroNamespace:
		name = m.namePrefix
	}
	m.addObjectHeader(kind, name, where)
	fmt.Fprintf(&m.text, "rules:\n%s", strings.Join(rules, ""))
	if len(m.subjects) == 0 {
		return
	}
	m.addObjectHeader(kind+"Binding", name, where)
	fmt.Fprintf(&m.text, "roleRef:\n  apiGroup: %s\n  kind: %s\n  name: %s\nsubjects:\n", rbacv1.GroupName, kind, name)
	for _, s := range m.subjects {
		fmt.Fprintf(&m.text, "  - kind: %s\n    name: %s\n", s.Kind, quoteString(s.Name))
		if s.Namespace != "" {
			fmt.Fprintf(&m.text, "    namespace: %s\n", s.Namespace)
		} else {
			fmt.Fprintf(&m.text, "    apiGroup: %s\n", s.APIGroup)
		}
	}
}

func (m *manifestBuilder) addObjectHeader(kind, name, where string) {
	if m.hasObjects {
		m.text.WriteString("---\n")
	}
	m.hasObjects = true
	fmt.Fprintf(
		&m.text,
		"apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s",
		rbacv1.SchemeGroupVersion,
		kind,
		name,
		where,
	)
}

func rulesText(r *roleRight, rules []rbacv1.PolicyRule) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  # %s: %s.\n  # Without it %s.\n", r.Name, r.Purpose, r.Consequence)
	for _, rule := range rules {
		fmt.Fprintf(&text, "  - apiGroups: %s\n    resources: %s\n", flowList(rule.APIGroups), flowList(rule.Resources))
		if len(rule.ResourceNames) > 0 {
			fmt.Fprintf(&text, "    resourceNames: %s\n", flowList(rule.ResourceNames))
		}
		fmt.Fprintf(&text, "    verbs: %s\n", flowList(rule.Verbs))
	}
	return text.String()
}

func flowList(items []string) string {
	shown := slices.Clone(items)
	for i, item := range shown {
		if item == "" || item == "*" {
			shown[i] = `"` + item + `"`
		}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}
