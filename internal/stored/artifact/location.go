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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// storeLocation is what the cluster says about the location of an artifact.
type storeLocation struct {
	// name is the BackupStorageLocation's; empty if it could not be read.
	name string
	// hosts are the addresses in its configuration, as host:port; bucket may precede them.
	hosts  []string
	bucket string
	// caCertificates are PEM certificates to verify its TLS with.
	caCertificates []byte
	// caHint says what to do about its CA if verification fails.
	caHint string
}

// findLocation finds the storage location of a target; a restore's artifacts are in its backup's location
// (pkg/controller/download_request_controller.go). It fails if Velero could never answer, because the restore, the
// backup or the location is missing. What the user may not read stays empty.
func (f *Fetcher) findLocation(ctx context.Context, target Target) (*storeLocation, error) {
	w := &storeLocation{}
	backupName := target.Name
	if strings.HasPrefix(string(target.Kind), "Restore") {
		var restore veleroapi.Restore
		if found, err := f.fetchVeleroObject(ctx, "restores", target.Name, &restore); !found || err != nil {
			return w, err
		}
		if backupName = restore.Spec.BackupName; backupName == "" {
			// Velero sets the backup from the schedule when the restore begins.
			return nil, fmt.Errorf("%w: restore %s does not name a backup yet", ErrUnknowable, target.Name)
		}
	}
	var backup veleroapi.Backup
	if found, err := f.fetchVeleroObject(ctx, "backups", backupName, &backup); !found || err != nil {
		return w, err
	}
	if backup.Spec.StorageLocation == "" {
		return nil, fmt.Errorf("%w: backup %s does not have a storage location yet", ErrUnknowable, backupName)
	}
	var location veleroapi.BackupStorageLocation
	if found, err := f.fetchVeleroObject(
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

// fetchVeleroObject reads an object of Velero's. found is false, without an error, if the user may not read it.
func (f *Fetcher) fetchVeleroObject(ctx context.Context, resource, name string, into any) (found bool, err error) {
	err = f.fetchObject(ctx, veleroapi.GroupVersion.WithResource(resource), f.options.Namespace, name, into)
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

// hostsOf returns the hosts of all URLs in a location's configuration: publicUrl or s3Url for AWS; other providers
// have their own keys.
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

// namesAddress reports whether the location's configuration names the address, with the bucket before it or not.
func (w *storeLocation) namesAddress(address string) bool {
	return slices.ContainsFunc(w.hosts, func(host string) bool {
		return address == host || w.bucket != "" && address == strings.ToLower(w.bucket)+"."+host
	})
}

// readLocationCA reads a location's certificates. caCertRef wins over caCert, as in Velero.
func (f *Fetcher) readLocationCA(
	ctx context.Context,
	w *storeLocation,
	location *veleroapi.BackupStorageLocation,
) error {
	storage := location.Spec.ObjectStorage
	if storage == nil {
		return nil
	}
	if ref := storage.CACertRef; ref != nil {
		var secret corev1.Secret
		err := f.fetchObject(ctx, corev1.SchemeGroupVersion.WithResource("secrets"), f.options.Namespace, ref.Name, &secret)
		switch {
		case err == nil && parsePEM(secret.Data[ref.Key]) != nil:
			w.caCertificates = secret.Data[ref.Key]
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
		if w.caCertificates != nil {
			return nil
		}
	}
	switch {
	case parsePEM(storage.CACert) != nil:
		w.caCertificates = storage.CACert
	case len(storage.CACert) > 0 && w.caHint == "":
		w.caHint = fmt.Sprintf(
			"objectStorage.caCert of location %s holds no PEM certificate: give it with --cacert",
			w.name,
		)
	}
	return nil
}

// parsePEM returns the certificates of a PEM text, or nil if there is none.
func parsePEM(text []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil
	}
	return pool
}

// trustedRoots returns all certificates that may have signed the store's certificate.
func (f *Fetcher) trustedRoots(w *storeLocation) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		if len(f.caCertificates) == 0 && len(w.caCertificates) == 0 {
			return nil, errors.New(
				"cannot read this machine's certificate authorities; use --cacert for the object store's",
			)
		}
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(f.caCertificates)
	pool.AppendCertsFromPEM(w.caCertificates)
	return pool, nil
}
