package cmd

import (
	"crypto/sha256"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
)

// clusterIdentity tells a cluster from others, for what is kept of it on disk:
// the address of its API server and the authorities that this one's certificate
// is signed by. A cluster that is made anew at the same address, as local ones
// are, has another authority. It needs no request, so that it is the same when
// the cluster does not answer.
func clusterIdentity(config *rest.Config) string {
	authorities := config.CAData
	if len(authorities) == 0 && config.CAFile != "" {
		authorities, _ = os.ReadFile(config.CAFile) // what is unreadable fails elsewhere
	}
	return fmt.Sprintf("%s\n%s\n%s\n%x", config.Host, config.APIPath, config.ServerName, sha256.Sum256(authorities))
}
