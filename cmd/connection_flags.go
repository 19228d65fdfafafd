package cmd

import (
	"net/url"
	"path/filepath"
	"slices"
)

// connectionFlags are how another program gets to the cluster as we do, the context
// excepted: by flags, and by the environment where no flag says it. Files are
// named in full, because a command may be copied to another shell. Secrets are
// left out: --token and a proxy's password.
func (c *cli) connectionFlags() (flags, environment []string) {
	add := func(name string, value *string) {
		if value != nil && *value != "" {
			flags = append(flags, "--"+name+"="+*value)
		}
	}
	addFile := func(name string, path *string) {
		if path != nil && *path != "" {
			flags = append(flags, "--"+name+"="+absolutePath(*path))
		}
	}
	addAll := func(name string, values *[]string) {
		if values == nil {
			return
		}
		for _, value := range *values {
			add(name, &value)
		}
	}
	f := c.flags
	addFile("kubeconfig", f.KubeConfig)
	if f.KubeConfig == nil || *f.KubeConfig == "" {
		switch files := kubeconfigFiles(c.env("KUBECONFIG")); len(files) {
		case 0:
		case 1:
			addFile("kubeconfig", &files[0])
		default:
			list := files[0]
			for _, file := range files[1:] {
				list += string(filepath.ListSeparator) + file
			}
			environment = append(environment, "KUBECONFIG="+list)
		}
	}
	add("cluster", f.ClusterName)
	add("user", f.AuthInfoName)
	add("server", f.APIServer)
	add("tls-server-name", f.TLSServerName)
	addFile("certificate-authority", f.CAFile)
	addFile("client-certificate", f.CertFile)
	addFile("client-key", f.KeyFile)
	add("as", f.Impersonate)
	add("as-uid", f.ImpersonateUID)
	addAll("as-group", f.ImpersonateGroup)
	addAll("as-user-extra", f.ImpersonateUserExtra)
	if f.ProxyURL != nil {
		proxy, err := url.Parse(*f.ProxyURL)
		if err == nil && proxy.User == nil {
			add("proxy-url", f.ProxyURL)
		}
	}
	if f.Insecure != nil && *f.Insecure {
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
