package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/say/document"
)

const rbacPolicy = "policy"

type rbacFlags struct {
	out                           io.Writer
	namespace, store, name        string
	with                          []string
	groups, users, serviceAccount []string
	output                        string
}

func newRBAC(c *cli) *cobra.Command {
	f := rbacFlags{out: c.streams.Out}
	cmd := &cobra.Command{
		Use:   "rbac viewer|artifacts|operator|policy",
		Short: "Print the roles that veltui needs, as manifests for kubectl apply",
		Long: `Print the roles that veltui needs, as manifests for kubectl apply. rbac
contacts no cluster and changes nothing.

viewer     looks at backups and restores, and at what they wait for
artifacts  also reads what is stored: logs, results, contents of backups. Anyone
           with this role can read every Secret in every backup
operator   also finalizes, wakes, cancels volumes, and writes an Event about it
policy     limits what operators may change to what veltui writes, with a
           ValidatingAdmissionPolicy (Kubernetes 1.30 and newer)

Each role has the rights of those before it. --with adds optional rights; the
manifest says what you lose without each. --group, --user and --service-account
bind the role; for policy they name the operators.

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

  # For a pod of namespace tools, and a Velero in openshift-adp
  veltui rbac artifacts -n openshift-adp --service-account tools:veltui | kubectl apply -f -

  # The same for another team, beside the first
  veltui rbac operator --name dba-restore --group dba | kubectl apply -f -
  veltui rbac policy --name dba-restore --group dba | kubectl apply -f -

  # Every verb of a role, for a review
  veltui rbac operator -o json | jq -c '.items[].rules[]?'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return usagef("expected viewer, artifacts, operator or policy\nSee '%s --help'.", cmd.CommandPath())
			}
			return nil
		},
		ValidArgs: append(slices.Clone(rbacRoles), rbacPolicy),
		RunE: func(_ *cobra.Command, args []string) error {
			f.namespace = cmp.Or(c.flags.Context.Namespace, c.env("VELERO_NAMESPACE"), "velero")
			return f.print(args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.with, "with", nil, "Optional rights to add: "+strings.Join(optionalRights(), ", "))
	flags.StringVar(&f.store, "store-namespace", "", "Namespace of an object store that only the cluster can reach: adds the rights to reach it (artifacts, operator)")
	flags.StringArrayVar(&f.groups, "group", nil, "Group to bind the role to")
	flags.StringArrayVar(&f.users, "user", nil, "User to bind the role to")
	flags.StringArrayVar(&f.serviceAccount, "service-account", nil, "Service account to bind the role to, as NAMESPACE:NAME")
	flags.StringVar(&f.name, "name", "", "Begin all names in the manifest with this (default veltui-ROLE); kubectl apply replaces what has the same name")
	flags.StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	completeFlag(cmd, "with", several(optionalRights()))
	completeFlag(cmd, "store-namespace", c.completeValues(c.namespaces))
	return cmd
}

func (f *rbacFlags) print(what string) error {
	subjects, err := f.check(what)
	if err != nil {
		return err
	}
	var manifest []byte
	if what == rbacPolicy {
		manifest, err = policyManifest(f, subjects)
	} else {
		manifest, err = roleManifest(what, f, subjects)
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

func (f *rbacFlags) check(what string) ([]subject, error) {
	for flag, namespace := range map[string]string{"namespace": f.namespace, "store-namespace": f.store} {
		if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
			return nil, usagef("--%s: %q is not a valid namespace name: %s", flag, namespace, wrong[0])
		}
	}
	if wrong := validation.IsDNS1123Subdomain(f.name + "-" + f.namespace); f.name != "" && len(wrong) > 0 {
		return nil, usagef("--name %q: %s", f.name, wrong[0])
	}
	for _, name := range f.with {
		if !slices.Contains(optionalRights(), name) {
			return nil, usagef("--with %s: there is no such right; there are %s", name, human.List(optionalRights(), 20))
		}
		r := &rights()[slices.IndexFunc(rights(), func(r right) bool { return r.Name == name })]
		if what != rbacPolicy && !r.of(what) {
			return nil, usagef("--with %s: this right is for %s", name, human.List(rbacRoles[slices.Index(rbacRoles, r.Role):], 3))
		}
	}
	switch {
	case what == rbacPolicy && (len(f.with) > 0 || f.store != ""):
		return nil, usagef("--with and --store-namespace are for roles")
	case f.store != "" && what == rbacRoles[0]:
		return nil, usagef("--store-namespace is for artifacts and operator")
	}
	subjects, err := f.subjects()
	if err != nil || what != rbacPolicy {
		return subjects, err
	}
	if len(subjects) == 0 {
		return nil, usagef("name the operators whom the policy limits with --group, --user or --service-account")
	}
	for _, s := range subjects {
		if s.holdsVelero(f.namespace) {
			return nil, usagef("the policy would limit Velero itself, which could then not write how its jobs go: %s is or holds a service account of namespace %s whose name begins with velero", s.Name, f.namespace)
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
