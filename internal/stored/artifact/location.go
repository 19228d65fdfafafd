package artifact

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/veltui/veltui/internal/sanitize"
)

// storeLocation is what the cluster says about the place that an artifact lies in.
type storeLocation struct {
	// name is the BackupStorageLocation's; empty if it could not be read.
	name string
	// hosts are the addresses, as host:port, in its configuration, and bucket what may stand before them.
	hosts  []string
	bucket string
	// cas are PEM certificates that its TLS may be verified with.
	cas []byte
	// caHint says what to do about its CA if verification fails.
	caHint string
}

// locate finds the storage location of a target; a restore's artifacts lie in its backup's
// (pkg/controller/download_request_controller.go). It fails if Velero could never answer, because
// one of them is gone. What the user may not read is left out.
func (f *Fetcher) locate(ctx context.Context, target Target) (*storeLocation, error) {
	w := &storeLocation{}
	backupName := target.Name
	if strings.HasPrefix(string(target.Kind), "Restore") {
		var restore velerov1.Restore
		if found, err := f.find(ctx, "restores", target.Name, &restore); !found || err != nil {
			return w, err
		}
		if backupName = restore.Spec.BackupName; backupName == "" {
			// Velero fills it in from the schedule when it begins.
			return nil, fmt.Errorf("%w: restore %s does not name a backup yet", ErrUnknowable, target.Name)
		}
	}
	var backup velerov1.Backup
	if found, err := f.find(ctx, "backups", backupName, &backup); !found || err != nil {
		return w, err
	}
	if backup.Spec.StorageLocation == "" {
		return nil, fmt.Errorf("%w: backup %s does not have a storage location yet", ErrUnknowable, backupName)
	}
	var location velerov1.BackupStorageLocation
	if found, err := f.find(
		ctx,
		"backupstoragelocations",
		backup.Spec.StorageLocation,
		&location,
	); !found ||
		err != nil {
		return w, err
	}
	w.name = location.Name
	w.hosts = hostsOf(location.Spec.Config)
	if location.Spec.ObjectStorage != nil {
		w.bucket = location.Spec.ObjectStorage.Bucket
	}
	return w, f.readLocationCA(ctx, w, &location)
}

// find reads an object of Velero's. It is not found, without an error, if the user may not read it.
func (f *Fetcher) find(ctx context.Context, resource, name string, into any) (found bool, err error) {
	err = f.get(ctx, velerov1.SchemeGroupVersion.WithResource(resource), f.options.Namespace, name, into)
	kind := cmp.Or(map[string]string{"backups": "backup", "restores": "restore"}[resource], "storage location")
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsForbidden(err):
		f.options.Log.Info("may not read "+kind, "name", name)
		return false, nil
	case apierrors.IsNotFound(err):
		return false, fmt.Errorf(
			"%w: there is no %s %s in namespace %s, and without it Velero cannot sign a URL",
			ErrUnknowable,
			kind,
			sanitize.String(name),
			f.options.Namespace,
		)
	}
	return false, explainAPI("reading "+kind+" "+sanitize.String(name), err)
}

// hostsOf are the hosts of all URLs in a location's configuration: publicUrl or s3Url for AWS; others have
// their own keys.
func hostsOf(config map[string]string) []string {
	var hosts []string
	for _, value := range config {
		u, err := url.Parse(strings.TrimSpace(value))
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
			hosts = append(hosts, addressOf(u))
		}
	}
	return hosts
}

// names reports whether the location's configuration names the address, with the bucket before it or not.
func (w *storeLocation) names(address string) bool {
	return slices.ContainsFunc(w.hosts, func(host string) bool {
		return address == host || w.bucket != "" && address == strings.ToLower(w.bucket)+"."+host
	})
}

// readLocationCA takes a location's certificates. caCertRef wins over caCert, as in Velero.
func (f *Fetcher) readLocationCA(
	ctx context.Context,
	w *storeLocation,
	location *velerov1.BackupStorageLocation,
) error {
	storage := location.Spec.ObjectStorage
	if storage == nil {
		return nil
	}
	if ref := storage.CACertRef; ref != nil {
		var secret corev1.Secret
		err := f.get(ctx, corev1.SchemeGroupVersion.WithResource("secrets"), f.options.Namespace, ref.Name, &secret)
		switch {
		case err == nil && pemOf(secret.Data[ref.Key]) != nil:
			w.cas = secret.Data[ref.Key]
		case err == nil:
			w.caHint = fmt.Sprintf(
				"secret %s, which location %s takes it from, holds no PEM certificate under %s: give it with --cacert",
				ref.Name,
				w.name,
				ref.Key,
			)
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			w.caHint = fmt.Sprintf(
				"location %s takes it from secret %s, which is not there or you may not read: give it with --cacert",
				w.name,
				ref.Name,
			)
		default:
			return explainAPI("reading the CA of storage location "+w.name, err)
		}
		w.caHint = sanitize.String(w.caHint)
		if w.cas != nil {
			return nil
		}
	}
	switch {
	case pemOf(storage.CACert) != nil:
		w.cas = storage.CACert
	case len(storage.CACert) > 0 && w.caHint == "":
		w.caHint = fmt.Sprintf(
			"objectStorage.caCert of location %s holds no PEM certificate: give it with --cacert",
			w.name,
		)
	}
	return nil
}

// pemOf returns the certificates of a PEM text, or nil if there is none.
func pemOf(text []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil
	}
	return pool
}

// roots are all certificates that the store's may be signed by.
func (f *Fetcher) roots(w *storeLocation) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		if len(f.cas) == 0 && len(w.cas) == 0 {
			return nil, errors.New(
				"cannot read this machine's certificate authorities; use --cacert for the object store's",
			)
		}
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(f.cas)
	pool.AppendCertsFromPEM(w.cas)
	return pool, nil
}
