package artifact

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// explainAPI says what the API server did not allow.
func explainAPI(doing string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: %s: %w", ErrForbidden, doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// explainCreate says why a DownloadRequest could not be created.
func (f *Fetcher) explainCreate(ctx context.Context, target Target, err error) error {
	const doing = "creating a download request"
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrNoAnswer):
		return fmt.Errorf("%w: the API server took longer than %s to create a request: %w", ErrNoAnswer, f.limits.Answer, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case apierrors.IsInvalid(err):
		if since := Since(target.Kind); since != "" {
			return fmt.Errorf("%s: this cluster's Velero does not know the kind %s, which came with Velero %s: %w", doing, target.Kind, since, err)
		}
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: there is no namespace %s, or Velero's custom resources are not installed: %w", doing, f.namespace, err)
	}
	return explainAPI(doing, err)
}

// explainSilence says what is known about a request that Velero has not
// answered, and what to check. Velero leaves a request without a URL, and only
// sets its expiration, if the backup, the restore or the storage location
// cannot be found or the store's plugin fails
// (pkg/controller/download_request_controller.go).
func (f *Fetcher) explainSilence(ctx context.Context, r *request, last error) error {
	wait := f.limits.Answer
	down, err := f.serverDown(ctx)
	switch {
	case err != nil && !answered(err):
		return fmt.Errorf("%w within %s: the API server does not respond: %w", ErrNoAnswer, wait, err)
	case down != "":
		return fmt.Errorf("%w within %s: %s, so nobody answers requests", ErrNoAnswer, wait, down)
	case !errors.Is(last, ErrNoAnswer):
		return fmt.Errorf("%w within %s: %w", ErrNoAnswer, wait, last)
	case r.seen.Status.Expiration != nil:
		return fmt.Errorf("%w within %s: the server accepted the request but could not sign a URL; see its log in namespace %s (is the storage location available, are its credentials valid?)",
			ErrNoAnswer, wait, f.namespace)
	}
	phase := sanitize.String(string(r.seen.Status.Phase))
	if phase == "" {
		phase = "none"
	}
	return fmt.Errorf("%w within %s (phase of the request: %s): check that the velero pod in namespace %s is running and ready; an object store that does not respond may also block its only download worker",
		ErrNoAnswer, wait, phase, f.namespace)
}

// answered reports whether the API server sent an error, rather than nothing.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// serverDown says that Velero's server does not run, by the pods in its
// namespace; it is empty if it runs, or if that cannot be known.
func (f *Fetcher) serverDown(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	list, err := f.cluster.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(f.namespace).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil || list.GetContinue() != "" {
		return "", err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		p := &corev1.Pod{}
		if _, err := decode.Unstructured(&list.Items[i], p); err != nil {
			return "", nil //nolint:nilerr // a pod that cannot be read says nothing about the server
		}
		pods = append(pods, p)
	}
	switch server := velero.ServerOf(pods, f.clock()); {
	case server.Running:
		return "", nil
	case server.Name == "":
		return "there is no pod of Velero's server in namespace " + f.namespace, nil
	case server.Waiting != "":
		return fmt.Sprintf("Velero's server does not run in namespace %s (pod %s: %s)", f.namespace, sanitize.String(server.Name), sanitize.String(server.Waiting)), nil
	default:
		return fmt.Sprintf("Velero's server does not run in namespace %s (pod %s)", f.namespace, sanitize.String(server.Name)), nil
	}
}

// explainDial says why the object store could not be talked to.
func (w *storeLocation) explainDial(signed signedURL, err error) error {
	host := sanitize.String(signed.url.Host)
	var unknown x509.UnknownAuthorityError
	var wrong x509.HostnameError
	var verify *tls.CertificateVerificationError
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrClear):
		return fmt.Errorf("%w: %s uses plain http, so anyone on the network could read the data, Secrets included; --allow-plain-http allows it", ErrClear, host)
	case errors.As(err, &unknown):
		hint := "give its CA with --cacert, or put it into the location's objectStorage.caCert"
		if w.caHint != "" {
			hint = w.caHint
		}
		return fmt.Errorf("the certificate of %s is signed by an unknown authority; %s: %w", host, hint, err)
	case errors.As(err, &wrong), errors.As(err, &verify):
		return fmt.Errorf("the certificate of %s is not valid: %w", host, err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("cannot resolve %s, the host of the download URL; %s: %w", host, w.reachHint(), err)
	}
	return fmt.Errorf("connecting to the object store at %s: %w", host, err)
}

// reachHint is what makes a store reachable from outside the cluster.
func (w *storeLocation) reachHint() string {
	if w.name == "" {
		return "set config.publicUrl of the storage location to an address that can be reached from here"
	}
	return fmt.Sprintf("set config.publicUrl of storage location %s to an address that can be reached from here", w.name)
}

// since is the Velero that brought a kind of target
// (pkg/apis/velero/v1/download_request_types.go); older CRDs refuse it.
var since = map[velerov1.DownloadTargetKind]string{
	velerov1.DownloadTargetKindBackupItemOperations:  "1.11",
	velerov1.DownloadTargetKindBackupResults:         "1.11",
	velerov1.DownloadTargetKindRestoreResourceList:   "1.11",
	velerov1.DownloadTargetKindRestoreItemOperations: "1.11",
	velerov1.DownloadTargetKindBackupVolumeInfos:     "1.13",
	velerov1.DownloadTargetKindRestoreVolumeInfo:     "1.14",
}

// Since is the version of Velero that brought an artifact, or empty if it has
// always been there.
func Since(kind velerov1.DownloadTargetKind) string { return since[kind] }
