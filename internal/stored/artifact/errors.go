package artifact

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/filetype"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Errors that callers distinguish with errors.Is. The errors wrapped around them say what happened and what to check.
var (
	// ErrAbsent: the object store says that there is no such object (404).
	ErrAbsent = errors.New("not in the object store")
	// ErrUnknowable: it is unknown whether the object is there. S3 answers 403 also for a missing object if the signer
	// may not list the bucket; and without a backup no URL can be signed.
	ErrUnknowable = errors.New("cannot tell whether it is in the object store")
	// ErrNoAnswer: Velero did not sign a URL in time.
	ErrNoAnswer = errors.New("no download URL from Velero")
	// ErrRefused: Velero says that it will not sign a URL.
	ErrRefused = errors.New("refused by Velero")
	// ErrTampered: the DownloadRequest is not what was created.
	ErrTampered = errors.New("someone else changed the download request")
	// ErrUnsafeURL: the URL leads where veltui does not connect.
	ErrUnsafeURL = errors.New("veltui does not follow the download URL")
	// ErrUnencrypted: the data, which may hold Secrets, would travel unencrypted without consent.
	ErrUnencrypted = errors.New("the object store is not encrypted")
	// ErrTooLarge: the data exceeds the limits.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrReplaced: something else came in place of what Velero stored, such as the page of a proxy.
	ErrReplaced = errors.New("not what Velero stored")
	// ErrStalled: nothing arrived for too long, or the whole download took too long.
	ErrStalled = errors.New("the download takes too long")
	// ErrForbidden: the user lacks a right that a download needs.
	ErrForbidden = errors.New("not permitted")

	errExpired = errors.New("the download URL has expired")
)

// explainAPI returns an error that says what the API server did not allow.
func explainAPI(doing string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: %s: %w", ErrForbidden, doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// explainCreate returns an error that says why a DownloadRequest could not be created.
func (f *Fetcher) explainCreate(ctx context.Context, target Target, err error) error {
	const doing = "creating a download request"
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrNoAnswer):
		return fmt.Errorf(
			"%w: the API server took longer than %s to create a request: %w",
			ErrNoAnswer,
			f.options.Limits.SigningTimeout,
			err,
		)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case apierrors.IsInvalid(err):
		since := TargetKindSince(target.Kind)
		if since != "" && apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueNotSupported) {
			return fmt.Errorf("%s: %s: %w", doing, f.explainUnknownKind(ctx, target.Kind, since), err)
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

// explainSilence returns an error that says what to check about an unanswered request. Velero leaves a request
// without a URL if it cannot find the backup, the restore or the location, or if the store's plugin fails
// (pkg/controller/download_request_controller.go).
func (f *Fetcher) explainSilence(ctx context.Context, r *downloadRequest, last error) error {
	wait := f.options.Limits.SigningTimeout
	down, _, err := f.serverDownReason(ctx)
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err != nil && !answered:
		return fmt.Errorf("%w within %s: the API server does not respond: %w", ErrNoAnswer, wait, err)
	case down != "":
		return fmt.Errorf("%w within %s: %s, so nobody answers requests", ErrNoAnswer, wait, down)
	case !errors.Is(last, ErrNoAnswer):
		return fmt.Errorf("%w within %s: %w", ErrNoAnswer, wait, last)
	case r.lastState.Status.Expiration != nil:
		return fmt.Errorf(
			"%w within %s: the server accepted the request but could not sign a URL; see its log in namespace %s (is the "+
				"storage location available, are its credentials valid?)",
			ErrNoAnswer,
			wait,
			f.options.Namespace,
		)
	}
	phase := cmp.Or(sanitize.String(string(r.lastState.Status.Phase)), "none")
	return fmt.Errorf(
		"%w within %s (phase of the request: %s): check that the velero pod in namespace %s is running and ready; an "+
			"object store that does not respond may also block its only download worker",
		ErrNoAnswer,
		wait,
		phase,
		f.options.Namespace,
	)
}

// explainUnknownKind says why the API server does not accept a kind of target: the server is too old for it, or only
// the CRD is.
func (f *Fetcher) explainUnknownKind(ctx context.Context, kind veleroapi.DownloadTargetKind, since string) string {
	server, err := f.findServer(ctx)
	version, known := velero.ParseVersion(server.Version)
	needed, _ := velero.ParseVersion("v" + since + ".0")
	if err != nil || !known || version.Before(needed) {
		return fmt.Sprintf("this cluster's Velero does not know the kind %s, which came with Velero %s", kind, since)
	}
	return fmt.Sprintf(
		"the CRD downloadrequests.velero.io is older than the server %s and lacks the kind %s, which came with Velero %s; "+
			"apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
		sanitize.String(server.Version),
		kind,
		since,
	)
}

// serverDownReason says why Velero's server does not run, judged by its pods; empty if it runs or that is unknown.
// isStarting is true for a server that is about to run.
func (f *Fetcher) serverDownReason(ctx context.Context) (reason string, isStarting bool, err error) {
	server, err := f.findServer(ctx)
	switch {
	case err != nil:
		return "", false, err
	case server.Running || !server.Visible:
		return "", false, nil
	case server.Name == "":
		return "there is no pod of Velero's server in namespace " + f.options.Namespace, false, nil
	}
	pod := server.Name + human.Prefixed(": ", server.WaitingReason)
	reason = fmt.Sprintf(
		"Velero's server does not run in namespace %s (pod %s)",
		f.options.Namespace,
		sanitize.String(pod),
	)
	return reason, server.IsStarting(), nil
}

// findServer reads Velero's server from its pods. It is not Visible if they cannot all be read.
func (f *Fetcher) findServer(ctx context.Context) (velero.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	list, err := f.dynamicClient.Resource(corev1.SchemeGroupVersion.WithResource("pods")).
		Namespace(f.options.Namespace).
		List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil || list.GetContinue() != "" {
		return velero.Server{}, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		p := &corev1.Pod{}
		if _, err := decode.Unstructured(&list.Items[i], p); err != nil {
			return velero.Server{}, nil //nolint:nilerr // a pod that cannot be read says nothing about the server
		}
		pods = append(pods, p)
	}
	return velero.ServerOf(pods, f.options.Clock()), nil
}

// explainDial returns an error that says why the object store could not be reached.
func (w *storeLocation) explainDial(signed signedURL, err error) error {
	host := sanitize.String(signed.url.Host)
	_, unknownCA := errors.AsType[x509.UnknownAuthorityError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[*tls.CertificateVerificationError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, ErrUnencrypted):
		return fmt.Errorf(
			"%w: %s uses plain http, so anyone on the network could read the data, Secrets included; --allow-plain-http "+
				"allows it",
			ErrUnencrypted,
			host,
		)
	case unknownCA:
		hint := cmp.Or(w.caHint, "give its CA with --cacert, or put it into the location's objectStorage.caCert")
		return fmt.Errorf("the certificate of %s is signed by an unknown authority; %s: %w", host, hint, err)
	case wrongName, invalid:
		return fmt.Errorf("the certificate of %s is not valid: %w", host, err)
	case dns != nil && dns.IsNotFound:
		return fmt.Errorf("cannot resolve %s, the host of the download URL; %s: %w", host, w.reachabilityHint(), err)
	}
	return fmt.Errorf("connecting to the object store at %s: %w", host, err)
}

// reachabilityHint says what makes a store reachable from outside the cluster.
func (w *storeLocation) reachabilityHint() string {
	location := "the storage location"
	if w.name != "" {
		location = "storage location " + w.name
	}
	return "set config.publicUrl of " + location + " to an address that can be reached from here"
}

// TargetKindSince returns the version of Velero that added a kind of target, empty if it has always existed
// (pkg/apis/velero/v1/download_request_types.go); older CRDs refuse the kind.
func TargetKindSince(kind veleroapi.DownloadTargetKind) string {
	switch kind {
	case veleroapi.DownloadTargetKindBackupItemOperations, veleroapi.DownloadTargetKindBackupResults,
		veleroapi.DownloadTargetKindRestoreResourceList, veleroapi.DownloadTargetKindRestoreItemOperations:
		return "1.11"
	case veleroapi.DownloadTargetKindBackupVolumeInfos:
		return "1.13"
	case veleroapi.DownloadTargetKindRestoreVolumeInfo:
		return "1.14"
	}
	return ""
}

// missingPlaceCodes are the codes of a 404 about the bucket or container, which says nothing about the object.
var missingPlaceCodes = []string{
	"NoSuchBucket",
	"ContainerNotFound",
	"ContainerBeingDeleted",
	"AccountNotFound",
	"ResourceNotFound",
}

// storeError returns the error for an answer other than success.
func storeError(response *http.Response, signed signedURL) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, filetype.HeadBytes))
	a := signed.redactType(filetype.Detect(text)) // another server may answer, in another format
	a.Code = cmp.Or(a.Code, response.Header.Get("X-Ms-Error-Code"))
	said := fmt.Sprintf("the object store answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	switch {
	case a.Code != "":
		said += fmt.Sprintf(" (%s%s)", a.Code, human.Prefixed(": ", a.Message))
	case a.Format == filetype.HTML:
		said += fmt.Sprintf(", with %s from %s", a, signed.url.Host)
	}
	said = signed.redactText(said)
	switch status := response.StatusCode; {
	case a.Format == filetype.HTML: // no object store answers with a page: a proxy or a gateway does
		return fmt.Errorf("%w: %w: %s", ErrUnknowable, ErrReplaced, said)
	case status == http.StatusNotFound && slices.Contains(missingPlaceCodes, a.Code):
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

// hasExpired reports whether a URL has expired: "Request has expired" or ExpiredToken (S3), ExpiredToken (Google), a
// signature not valid in the specified time frame (Azure).
func hasExpired(status int, a filetype.Type) bool {
	if status != http.StatusForbidden && status != http.StatusBadRequest && status != http.StatusUnauthorized {
		return false
	}
	return strings.HasPrefix(a.Code, "Expired") ||
		strings.Contains(strings.ToLower(a.Message), "expired") ||
		strings.Contains(a.Message, "not valid in the specified time frame")
}
