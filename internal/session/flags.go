package session

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Flags are kubectl's flags that name the cluster and the user. Most are client-go's own; kubectl's own package would
// bring kustomize along.
type Flags struct {
	flagValues
	FlagSet *pflag.FlagSet
}

type flagValues struct {
	Kubeconfig string
	UserExtra  []string // key=value
	clientcmd.ConfigOverrides
	piped *pipedConfig // used if the kubeconfig is a pipe, which can be read only once
}

func NewFlags() *Flags {
	f := &Flags{flagValues: flagValues{piped: &pipedConfig{}}, FlagSet: pflag.NewFlagSet("cluster", pflag.ContinueOnError)}
	f.FlagSet.StringVar(&f.Kubeconfig, "kubeconfig", "", "Path to the kubeconfig file")
	f.FlagSet.StringArrayVar(
		&f.UserExtra,
		"as-user-extra",
		nil,
		"Extra of the user to impersonate, as key=value; can be repeated",
	)
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	// kubectl no longer takes passwords on its command line.
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", ""
	clientcmd.BindOverrideFlags(&f.ConfigOverrides, f.FlagSet, names)
	return f
}

// ForContext returns a copy with another context, and with another namespace unless it is empty.
func (f *Flags) ForContext(context, namespace string) *Flags {
	other := NewFlags()
	other.flagValues = f.flagValues
	other.CurrentContext = context
	if namespace != "" {
		other.Context.Namespace = namespace
	}
	return other
}

// Loader returns a configuration that reads the kubeconfig; flags override it.
func (v flagValues) Loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	rules.ExplicitPath = v.Kubeconfig
	overrides := v.ConfigOverrides
	overrides.ClusterDefaults = clientcmd.ClusterDefaults
	for _, extra := range v.UserExtra {
		key, value, found := strings.Cut(extra, "=")
		if !found {
			continue
		}
		if overrides.AuthInfo.ImpersonateUserExtra == nil {
			overrides.AuthInfo.ImpersonateUserExtra = map[string][]string{}
		}
		overrides.AuthInfo.ImpersonateUserExtra[key] = append(overrides.AuthInfo.ImpersonateUserExtra[key], value)
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(kubeconfigRules{rules, v.piped}, &overrides)
}

// kubeconfigRules loads the kubeconfig each time, unless it is a pipe, such as a shell's <(...).
type kubeconfigRules struct {
	*clientcmd.ClientConfigLoadingRules
	piped *pipedConfig
}

func (r kubeconfigRules) Load() (*clientcmdapi.Config, error) {
	for _, path := range append(slices.Clone(r.Precedence), r.ExplicitPath) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return r.piped.loadOnce(r.ClientConfigLoadingRules.Load)
		}
	}
	return r.ClientConfigLoadingRules.Load()
}

// pipedConfig is a kubeconfig that is loaded once. The zero value is ready.
type pipedConfig struct {
	once   sync.Once
	config *clientcmdapi.Config
	err    error
}

func (p *pipedConfig) loadOnce(load func() (*clientcmdapi.Config, error)) (*clientcmdapi.Config, error) {
	p.once.Do(func() { p.config, p.err = load() })
	return p.config.DeepCopy(), p.err
}
