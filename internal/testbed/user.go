package testbed

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// ContextName is the name of the context in the kubeconfigs of a test bed.
const ContextName = "local"

// AddUser returns the client configuration of a new user, who may do nothing
// until RBAC says otherwise. Users survive a restart of kube-apiserver.
// Tests may add users side by side.
func (c *ControlPlane) AddUser(name string, groups ...string) (*rest.Config, error) {
	c.usersMu.Lock()
	user, err := c.env.ControlPlane.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	c.usersMu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user.Config(), nil
}

// KubeconfigFor writes cfg as a kubeconfig (0600) into Dir under the given
// file name and returns its path.
func (c *ControlPlane) KubeconfigFor(cfg *rest.Config, file string) (string, error) {
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{ContextName: {
			Server:                   cfg.Host,
			CertificateAuthorityData: cfg.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{ContextName: {
			ClientCertificateData: cfg.CertData,
			ClientKeyData:         cfg.KeyData,
			Token:                 cfg.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{ContextName: {Cluster: ContextName, AuthInfo: ContextName}},
		CurrentContext: ContextName,
	}
	path := filepath.Join(c.dir, file)
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return path, nil
}
