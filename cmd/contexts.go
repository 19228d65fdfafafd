package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/glob"
	"github.com/veltui/veltui/internal/human"
)

// contexts are those that --context and --all-contexts name, each once: in the order given, of a
// glob by name. By default it is the current one, empty where none is in use. A context named
// like a list or a glob is that context.
func (c *connector) contexts() ([]string, error) {
	raw, err := c.kubeconfig()
	if err != nil {
		return nil, err
	}
	asked := c.flags.CurrentContext
	switch {
	case c.allContexts && asked != "":
		return nil, usagef("--all-contexts and --context %s: give only one of them", asked)
	case c.allContexts:
		asked = "*"
	case asked == "":
		return []string{raw.CurrentContext}, nil
	case c.exactContext:
		// A context that is gone must not become another one that its name fits.
		return []string{asked}, nil
	}
	named, err := namedContexts(contextNames(raw), asked)
	if err != nil {
		return nil, err
	}
	if flag := c.flagOfOneCluster(); len(named) > 1 && flag != "" {
		return nil, usagef("%s is about one cluster only; give it with a single --context", flag)
	}
	return named, nil
}

// flagOfOneCluster returns a given flag that names one cluster or holds its secret.
func (c *connector) flagOfOneCluster() string {
	for _, name := range []string{"server", "cluster", "token", "user", "client-certificate", "client-key"} {
		if c.flags.Set.Lookup(name).Value.String() != "" {
			return "--" + name
		}
	}
	return ""
}

func contextNames(raw *clientcmdapi.Config) []string {
	return slices.Sorted(maps.Keys(raw.Contexts))
}

func namedContexts(known []string, asked string) (named []string, err error) {
	if slices.Contains(known, asked) {
		return []string{asked}, nil
	}
	for word := range strings.SplitSeq(asked, ",") {
		found, err := contextsLike(known, strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		named = appendNew(named, found...)
	}
	return named, nil
}

// mapSlice returns what f makes of each element.
func mapSlice[T, U any](list []T, f func(T) U) []U {
	made := make([]U, len(list))
	for i, v := range list {
		made[i] = f(v)
	}
	return made
}

// appendNew appends the values that a list does not have.
func appendNew[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

func contextsLike(known []string, word string) ([]string, error) {
	switch {
	case word == "":
		return nil, usagef("--context has an empty name")
	case slices.Contains(known, word):
		return []string{word}, nil
	case !glob.Special(word):
		return nil, noContext(known, fmt.Sprintf("no context %q in the kubeconfig", word), word)
	}
	pattern, err := glob.Compile(word)
	if err != nil {
		return nil, usagef("--context %s: %w", word, err)
	}
	var found []string
	for _, name := range known {
		if matches, _, _ := pattern.Match(name, globSteps); matches { // a name that takes too many steps is not what was meant
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil, noContext(known, fmt.Sprintf("no context in the kubeconfig matches %q", word), "")
	}
	return found, nil
}

const globSteps = 100_000

const maxContextsNamed = 10

// noContext says which contexts there are: those that look like the word, else all.
func noContext(known []string, problem, word string) error {
	if len(known) == 0 {
		return fmt.Errorf("%s: it has no contexts", problem)
	}
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range known {
		names.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if like := names.SuggestionsFor(word); word != "" && len(like) > 0 && len(like) < len(known) {
		return fmt.Errorf("%s; did you mean %s?", problem, strings.Join(like[:min(3, len(like))], " or "))
	}
	return fmt.Errorf("%s; it has %s", problem, human.List(known, maxContextsNamed))
}

func (c *connector) oneContext() (string, error) {
	named, err := c.contexts()
	if err != nil {
		return "", err
	}
	if len(named) > 1 {
		return "", usagef("this needs one context, and %s names %d; give one of them, such as --context %s", c.contextFlag(), len(named), named[0])
	}
	return named[0], nil
}

func (c *connector) contextFlag() string {
	if c.allContexts {
		return "--all-contexts"
	}
	return "--context " + c.flags.CurrentContext
}

// kubeconfig reads the kubeconfig as it is now. It fails where nothing names a cluster.
func (c *connector) kubeconfig() (*clientcmdapi.Config, error) {
	raw, err := c.flags.Loader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	elsewhere := c.flags.ClusterInfo.Server + c.env("KUBERNETES_SERVICE_HOST") + c.env("KUBERNETES_MASTER")
	if clientcmdapi.IsConfigEmpty(&raw) && elsewhere == "" {
		return nil, errNoCluster
	}
	return &raw, nil
}
