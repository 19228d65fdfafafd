package artifact

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Errors that callers tell apart with errors.Is. What is wrapped around them says what happened and what to look at.
var (
	// ErrAbsent: the object store says that there is no such object (404).
	ErrAbsent = errors.New("not in the object store")
	// ErrUnknowable: it is unknown whether the object is there, as after a 403, which S3 also gives
	// for a missing object if the signer may not list the bucket, or without a backup to sign by.
	ErrUnknowable = errors.New("cannot tell whether it is in the object store")
	// ErrNoAnswer: Velero did not sign a URL in time.
	ErrNoAnswer = errors.New("no download URL from Velero")
	// ErrRefused: Velero says that it will not sign a URL.
	ErrRefused = errors.New("refused by Velero")
	// ErrTampered: the DownloadRequest is not what was created.
	ErrTampered = errors.New("someone else changed the download request")
	// ErrUnsafe: the URL leads where veltui does not follow.
	ErrUnsafe = errors.New("veltui does not follow the download URL")
	// ErrClear: the bytes, which may hold Secrets, would travel unencrypted without consent.
	ErrClear = errors.New("the object store is not encrypted")
	// ErrTooLarge: more came than the limits allow.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrStalled: nothing came for too long, or all of it took too long.
	ErrStalled = errors.New("the download takes too long")
	// ErrForbidden: the user may not do what a download takes.
	ErrForbidden = errors.New("not permitted")

	errExpired = errors.New("the download URL has expired")
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
		return fmt.Errorf(
			"%w: the API server took longer than %s to create a request: %w",
			ErrNoAnswer,
			f.options.Limits.Answer,
			err,
		)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case apierrors.IsInvalid(err):
		if since := Since(target.Kind); since != "" {
			return fmt.Errorf(
				"%s: this cluster's Velero does not know the kind %s, which came with Velero %s: %w",
				doing,
				target.Kind,
				since,
				err,
			)
		}
	case apierrors.IsNotFound(err):
		return fmt.Errorf(
			"%s: there is no namespace %s, or Velero's custom resources are not installed: %w",
			doing,
			f.options.Namespace,
			err,
		)
	}
	return explainAPI(doing, err)
}

// explainSilence says what to check about an unanswered request. Velero leaves one without a URL if it
// cannot find the backup, the restore or the location, or the store's plugin fails
// (pkg/controller/download_request_controller.go).
func (f *Fetcher) explainSilence(ctx context.Context, r *request, last error) error {
	wait := f.options.Limits.Answer
	down, err := f.serverDown(ctx)
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err != nil && !answered:
		return fmt.Errorf("%w within %s: the API server does not respond: %w", ErrNoAnswer, wait, err)
	case down != "":
		return fmt.Errorf("%w within %s: %s, so nobody answers requests", ErrNoAnswer, wait, down)
	case !errors.Is(last, ErrNoAnswer):
		return fmt.Errorf("%w within %s: %w", ErrNoAnswer, wait, last)
	case r.seen.Status.Expiration != nil:
		return fmt.Errorf(
			"%w within %s: the server accepted the request but could not sign a URL; see its log in namespace %s (is the "+
				"storage location available, are its credentials valid?)",
			ErrNoAnswer,
			wait,
			f.options.Namespace,
		)
	}
	phase := cmp.Or(sanitize.String(string(r.seen.Status.Phase)), "none")
	return fmt.Errorf(
		"%w within %s (phase of the request: %s): check that the velero pod in namespace %s is running and ready; an "+
			"object store that does not respond may also block its only download worker",
		ErrNoAnswer,
		wait,
		phase,
		f.options.Namespace,
	)
}

// serverDown says that Velero's server does not run, by its pods; empty if it runs or that is unknown.
func (f *Fetcher) serverDown(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	list, err := f.cluster.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
		Namespace(f.options.Namespace).
		List(ctx, metav1.ListOptions{Limit: 500})
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
	server := velero.ServerOf(pods, f.options.Clock())
	switch {
	case server.Running:
		return "", nil
	case server.Name == "":
		return "there is no pod of Velero's server in namespace " + f.options.Namespace, nil
	}
	pod := server.Name + human.Clause(": ", server.Waiting)
	return fmt.Sprintf(
		"Velero's server does not run in namespace %s (pod %s)",
		f.options.Namespace,
		sanitize.String(pod),
	), nil
}

// explainDial says why the object store could not be talked to.
func (w *storeLocation) explainDial(signed signedURL, err error) error {
	host := sanitize.String(signed.url.Host)
	_, unknownCA := errors.AsType[x509.UnknownAuthorityError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[*tls.CertificateVerificationError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, ErrClear):
		return fmt.Errorf(
			"%w: %s uses plain http, so anyone on the network could read the data, Secrets included; --allow-plain-http "+
				"allows it",
			ErrClear,
			host,
		)
	case unknownCA:
		hint := cmp.Or(w.caHint, "give its CA with --cacert, or put it into the location's objectStorage.caCert")
		return fmt.Errorf("the certificate of %s is signed by an unknown authority; %s: %w", host, hint, err)
	case wrongName, invalid:
		return fmt.Errorf("the certificate of %s is not valid: %w", host, err)
	case dns != nil && dns.IsNotFound:
		return fmt.Errorf("cannot resolve %s, the host of the download URL; %s: %w", host, w.reachHint(), err)
	}
	return fmt.Errorf("connecting to the object store at %s: %w", host, err)
}

// reachHint is what makes a store reachable from outside the cluster.
func (w *storeLocation) reachHint() string {
	location := "the storage location"
	if w.name != "" {
		location = "storage location " + w.name
	}
	return "set config.publicUrl of " + location + " to an address that can be reached from here"
}

// Since is the Velero that brought a kind of target, empty if it has always been there
// (pkg/apis/velero/v1/download_request_types.go); older CRDs refuse it.
func Since(kind velerov1.DownloadTargetKind) string {
	switch kind {
	case velerov1.DownloadTargetKindBackupItemOperations, velerov1.DownloadTargetKindBackupResults,
		velerov1.DownloadTargetKindRestoreResourceList, velerov1.DownloadTargetKindRestoreItemOperations:
		return "1.11"
	case velerov1.DownloadTargetKindBackupVolumeInfos:
		return "1.13"
	case velerov1.DownloadTargetKindRestoreVolumeInfo:
		return "1.14"
	}
	return ""
}

// maxAnswer is how much of an error's body is read.
const maxAnswer = 16 << 10

// answer is the error of S3, Google Cloud Storage and Azure Blob Storage.
type answer struct{ Code, Message string }

// placeMissing are the codes of a 404 about the place of the object, which says nothing about it.
var placeMissing = []string{
	"NoSuchBucket",
	"ContainerNotFound",
	"ContainerBeingDeleted",
	"AccountNotFound",
	"ResourceNotFound",
}

// storeError is the error that an answer other than success stands for.
func storeError(response *http.Response, signed signedURL) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var a answer
	_ = xml.Unmarshal(text, &a) // another server may answer, in another form
	a.Code = cmp.Or(a.Code, response.Header.Get("X-Ms-Error-Code"))
	said := fmt.Sprintf("the object store answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if a.Code != "" {
		said += fmt.Sprintf(" (%s: %s)", a.Code, a.Message)
	}
	said = signed.scrub(said)
	switch status := response.StatusCode; {
	case status == http.StatusNotFound && slices.Contains(placeMissing, a.Code):
		return fmt.Errorf("%w: %s", ErrUnknowable, said)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: %s", ErrAbsent, said)
	case hasExpired(status, a):
		return fmt.Errorf("%w: %w: %s", ErrUnknowable, errExpired, said)
	case status == http.StatusForbidden && a.Code == "RequestTimeTooSkewed":
		return fmt.Errorf("%w: %s; the clocks of the object store and Velero differ", ErrUnknowable, said)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("%w: %s", ErrUnknowable, said)
	}
	return errors.New(said)
}

// hasExpired: "Request has expired" or ExpiredToken (S3), ExpiredToken (Google), a signature not valid
// in the specified time frame (Azure).
func hasExpired(status int, a answer) bool {
	if status != http.StatusForbidden && status != http.StatusBadRequest && status != http.StatusUnauthorized {
		return false
	}
	return strings.HasPrefix(a.Code, "Expired") ||
		strings.Contains(strings.ToLower(a.Message), "expired") ||
		strings.Contains(a.Message, "not valid in the specified time frame")
}
