package cmd

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// connectionFlags are how another program gets to the cluster as we do, the context
// excepted: by flags, and by the environment where no flag says it. Files are
// named in full, because a command may be copied to another shell. Secrets are
// left out: --token and a proxy's password.
func (c *connector) connectionFlags() (flags, environment []string) {
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				flags = append(flags, "--"+name+"="+value)
			}
		}
	}
	addFile := func(name, path string) {
		if path != "" {
			add(name, absolutePath(path))
		}
	}
	f := c.flags
	addFile("kubeconfig", f.kubeconfig)
	if f.kubeconfig == "" {
		switch files := kubeconfigFiles(c.env("KUBECONFIG")); len(files) {
		case 0:
		case 1:
			addFile("kubeconfig", files[0])
		default:
			environment = append(environment, "KUBECONFIG="+strings.Join(files, string(filepath.ListSeparator)))
		}
	}
	add("cluster", f.Context.Cluster)
	add("user", f.Context.AuthInfo)
	add("server", f.ClusterInfo.Server)
	add("tls-server-name", f.ClusterInfo.TLSServerName)
	addFile("certificate-authority", f.ClusterInfo.CertificateAuthority)
	addFile("client-certificate", f.AuthInfo.ClientCertificate)
	addFile("client-key", f.AuthInfo.ClientKey)
	add("as", f.AuthInfo.Impersonate)
	add("as-uid", f.AuthInfo.ImpersonateUID)
	add("as-group", f.AuthInfo.ImpersonateGroups...)
	add("as-user-extra", f.userExtra...)
	if proxy, err := url.Parse(f.ClusterInfo.ProxyURL); err == nil && proxy.User == nil {
		add("proxy-url", f.ClusterInfo.ProxyURL)
	}
	if f.ClusterInfo.InsecureSkipTLSVerify {
		flags = append(flags, "--insecure-skip-tls-verify=true")
	}
	return flags, environment
}

// kubeconfigFiles are the files that KUBECONFIG lists.
func kubeconfigFiles(list string) (files []string) {
	for _, file := range filepath.SplitList(list) {
		if file != "" && !slices.Contains(files, absolutePath(file)) {
			files = append(files, absolutePath(file))
		}
	}
	return files
}

// absolutePath is a path that means the same in every folder.
func absolutePath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
