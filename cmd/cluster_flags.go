package cmd

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clusterFlags are kubectl's flags that say which cluster is meant and as whom.
// Most are client-go's own. kubectl's package of them is not used: it brings
// kustomize along.
type clusterFlags struct {
	clusterValues
	// set has the flags, bound to the values.
	set *pflag.FlagSet
}

// clusterValues are what the flags say.
type clusterValues struct {
	kubeconfig string
	userExtra  []string // key=value
	clientcmd.ConfigOverrides
	// piped is the kubeconfig if it is a pipe, which can be read only once.
	piped *pipedConfig
}

func newClusterFlags() *clusterFlags {
	f := &clusterFlags{clusterValues: clusterValues{piped: &pipedConfig{}}, set: pflag.NewFlagSet("cluster", pflag.ContinueOnError)}
	f.set.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to the kubeconfig file")
	f.set.StringArrayVar(&f.userExtra, "as-user-extra", nil, "Extra of the user to impersonate, as key=value; can be repeated")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	// kubectl has no passwords on its command line any more.
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", ""
	clientcmd.BindOverrideFlags(&f.ConfigOverrides, f.set, names)
	completeFiles(f.set, "kubeconfig", "certificate-authority", "client-certificate", "client-key")
	return f
}

// flags are flags of their own with these values.
func (v clusterValues) flags() *clusterFlags {
	f := newClusterFlags()
	f.clusterValues = v
	return f
}

// loader reads the kubeconfig, with what the flags say over it.
func (v clusterValues) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	rules.ExplicitPath = v.kubeconfig
	overrides := v.ConfigOverrides
	overrides.ClusterDefaults = clientcmd.ClusterDefaults
	for _, extra := range v.userExtra {
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

// kubeconfigRules load the kubeconfig each time as it is then, unless it is a pipe:
// of a shell's <(...), for example.
type kubeconfigRules struct {
	*clientcmd.ClientConfigLoadingRules
	piped *pipedConfig
}

func (r kubeconfigRules) Load() (*clientcmdapi.Config, error) {
	for _, path := range append(slices.Clone(r.Precedence), r.ExplicitPath) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return r.piped.load(r.ClientConfigLoadingRules.Load)
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

func (p *pipedConfig) load(load func() (*clientcmdapi.Config, error)) (*clientcmdapi.Config, error) {
	p.once.Do(func() { p.config, p.err = load() })
	return p.config.DeepCopy(), p.err
}
