package diagnosis

import "strings"

// messageCause is a row of the table of causes: what a message shows. A star stands for any text.
type messageCause struct {
	reason   Reason
	patterns []string
}

// ClassifyMessage returns what a message of Velero, of a plugin, of an object store or of the API server shows, no
// reason if the message is in no row of the table.
func ClassifyMessage(message string) Reason {
	message = strings.ToLower(message)
	for i := range messageCauses {
		for _, pattern := range messageCauses[i].patterns {
			if containsPattern(message, pattern) {
				return messageCauses[i].reason
			}
		}
	}
	return Reason{}
}

// containsPattern reports whether the parts between the stars stand in a text, in their order.
func containsPattern(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// messageCauses is the table of causes. The first row that fits a message counts, so that the more precise rows come
// first: most messages are wrapped in what Velero was doing.
var messageCauses = ignoreCase([]messageCause{
	// Velero's server marks what was in progress when it starts (pkg/cmd/server/server.go markInProgressBackupsFailed,
	// markInProgressRestoresFailed, markDataUploadsCancel and its siblings, 1.11 to 1.18.3).
	{ServerEnded, []string{
		"found a backup with status * during the server starting",
		"found a restore with status * during the server starting",
		"is in status * during the velero server starting",
	}},

	// The node-agent does the same (pkg/cmd/cli/nodeagent/server.go markInProgressPVBsFailed, and up to 1.15
	// markDataUploadsCancel, markDataDownloadsCancel).
	{NodeAgentEnded, []string{
		"during the node-agent starting", "podvolume* with status * during the server starting",
		"podvolumerestore with status * during the server starting",
	}},

	// Error codes of S3 (Amazon S3 API reference, "Error responses"; MinIO, cmd/api-errors.go), of Azure Blob Storage
	// ("Blob service error codes") and of Google Cloud Storage. Checksums come before other answers with 400 and 403.
	{StoreRefusesChecksum, []string{
		"XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "BadDigest", "x-amz-checksum",
		"x-amz-sdk-checksum", "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"NotImplemented: A header you provided implies functionality",
	}},
	{StoreCredentialsExpired, []string{
		"ExpiredToken", "TokenRefreshRequired", "RequestExpired", "Request has expired",
		"security token included in the request is expired", "ID token has expired", "AADSTS7000222",
		"refresh token has expired",
	}},
	{StoreCredentialsWrong, []string{
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidClientTokenId",
		"UnrecognizedClientException", "NoCredentialProviders", "failed to refresh cached credentials",
		"no EC2 IMDS role found", "AuthenticationFailed", "invalid_grant", "AADSTS7000215",
		"could not find default credentials", "Error 401", "StatusCode: 401",
	}},
	{StoreClockDiffers, []string{"RequestTimeTooSkewed"}},
	{StoreRegionWrong, []string{
		"AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraint",
		"incorrect region", "bucket is in this region",
	}},
	{StoreBucketMissing, []string{
		"NoSuchBucket", "ContainerNotFound", "bucket does not exist", "bucket doesn't exist",
	}},
	{StoreFull, []string{
		"XMinioStorageFull", "minimum free drive threshold", "XMinioAdminBucketQuotaExceeded",
		"Bucket quota exceeded", "api error QuotaExceeded", "InsufficientStorage", "StatusCode: 507",
		"storage quota",
	}},
	{StoreThrottles, []string{
		"SlowDown", "ServerBusy", "TooManyRequests", "RequestLimitExceeded", "StatusCode: 429", "StatusCode: 503",
	}},
	{StoreDenies, []string{
		"AccessDenied", "AllAccessDisabled", "AccountProblem", "AuthorizationFailure",
		"AuthorizationPermissionMismatch", "AccountIsDisabled", "InsufficientAccountPermissions",
		"does not have storage.", "StatusCode: 403", "Error 403",
	}},

	// Go's crypto/x509 (verify.go) and crypto/tls.
	{StoreCertificateUntrusted, []string{
		"x509: certificate", "tls: failed to verify certificate", "certificate signed by unknown authority",
	}},

	// The API server: k8s.io/apiserver/pkg/admission/plugin/webhook/errors, the plugins resourcequota and lifecycle, and
	// k8s.io/apimachinery/pkg/api/errors.
	{WebhookDenies, []string{
		"admission webhook * denied the request", "ValidatingAdmissionPolicy * denied", "violates PodSecurity",
	}},
	{WebhookUnreachable, []string{"failed calling webhook", "failed to call webhook", "conversion webhook for"}},
	{QuotaExceeded, []string{"exceeded quota:", "failed quota:", "is forbidden: maximum * usage per"}},
	{NamespaceDeleted, []string{"because it is being terminated", "terminating namespace * to disappear"}},
	{StorageClassMissing, []string{"storageclass* not found"}},
	{RightsMissing, []string{"is forbidden: User ", `cannot * resource "`}},
	{KindMissing, []string{
		"no matches for kind", "the server could not find the requested resource",
		"resource not found in the cluster",
	}},
	{ObjectRefused, []string{
		"field is immutable", "spec is immutable", "may not change once set", " is invalid: ",
		"provided port is already allocated", "provided IP is already allocated", "strict decoding error",
		"unknown field",
	}},
	{APIServerFailed, []string{
		"etcdserver: ", "the object has been modified", "the server is currently unable to handle the request",
		"client rate limiter Wait", "the server was unable to return a response",
		"unable to retrieve the complete list of server APIs",
	}},

	// Disks: the errors of the system calls (ENOSPC, EDQUOT), wherever they are wrapped.
	{VolumeFull, []string{"no space left on device", "disk quota exceeded", "not enough space"}},

	// Snapshots (pkg/util/csi/volume_snapshot.go; up to 1.13 the plugin velero-plugin-for-csi).
	{SnapshotClassMissing, []string{
		"failed to get VolumeSnapshotClass", "error getting VolumeSnapshotClass",
		"did not find a VolumeSnapshotClass", "volumesnapshotclass* not found",
	}},
	{SnapshotFailed, []string{
		"volumesnapshot* timed out", "volumesnapshot* timeout", "volumesnapshot* not ready",
		"failed to take snapshot", "failed to take a snapshot", "failed to check and update snapshot content",
		"error taking snapshot", "fail to wait VolumeSnapshot", "CSI snapshot * failed",
	}},

	// Movers (pkg/controller/data_upload_controller.go onPrepareTimeout and its siblings; pkg/exposer; up to 1.14.0
	// pkg/util/kube/pod.go IsPodUnrecoverable counts Unschedulable).
	{MoverNotScheduled, []string{"Pod is unschedulable", "nodes are available:"}},
	{MoverNotReady, []string{
		"timeout on preparing", "error to expose", "expose error", "in abnormal state", "is in unrecoverable",
		"ErrImagePull", "ImagePullBackOff",
	}},

	// pkg/podvolume/backupper.go and restorer.go, and the movers' own limits in pkg/datamover.
	{VolumesTimedOut, []string{
		"timed out waiting for all PodVolume", "timed out waiting for fs backup to complete",
		"timed out waiting for fs restore to complete",
	}},

	// pkg/controller/backup_operations_controller.go and restore_operations_controller.go.
	{OperationTimedOut, []string{"Asynchronous action timed out"}},

	// Kopia (repo/format) and restic.
	{RepositoryPasswordWrong, []string{"invalid repository password", "wrong password or no key found"}},

	// pkg/plugin/clientmgmt/process/registry.go pluginNotFoundError.
	{PluginMissing, []string{"unable to locate * plugin named", "unknown service *Plugin"}},

	// pkg/podexec/pod_command_executor.go; internal/hook/item_hook_handler.go and wait_exec_hook_handler.go.
	{HookFailed, []string{
		" hook * failed", "error executing hook", " hook * timed out",
		"command terminated with exit code",
	}},

	// pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo waits for the claim to be bound, up to
	// the resource timeout.
	{ClaimNotBound, []string{"fail to patch dynamic PV"}},

	// Validation (pkg/controller/backup_controller.go prepareBackupRequest, restore_controller.go validateAndComplete).
	{LocationWasReadOnly, []string{"currently in read-only mode"}},
	{LocationWasUnavailable, []string{"is in Unavailable status", "backup storage location * is unavailable"}},
	{LocationNotFound, []string{
		"error getting backup storage location", "existing backup storage location was not specified",
		"backupstoragelocation* not found",
	}},
	{BackupNotFound, []string{
		"error retrieving backup", "no backups found for schedule", "no completed backups found for schedule",
		"backups.velero.io * not found",
	}},

	// A cancelled volume carries no cause of its own (pkg/controller/data_upload_controller.go OnDataUploadCancelled).
	{VolumesCancelled, []string{"is canceled", "cancelled by", "canceled by", "mark it as cancel"}},

	// Networks last: their errors are wrapped in all of the above (Go's net and net/http).
	{StoreUnreachable, []string{
		"no such host", "connection refused", "no route to host", "i/o timeout", "network is unreachable",
		"connection reset by peer", "TLS handshake timeout", "context deadline exceeded", "Client.Timeout exceeded",
		"proxyconnect",
	}},
})

// ignoreCase returns the rows with patterns in lower case.
func ignoreCase(rows []messageCause) []messageCause {
	for i := range rows {
		for k, pattern := range rows[i].patterns {
			rows[i].patterns[k] = strings.ToLower(pattern)
		}
	}
	return rows
}

// isStoreCause reports whether a reason is about the object store.
func isStoreCause(r Reason) bool {
	switch r {
	case StoreDenies, StoreCredentialsExpired, StoreCredentialsWrong, StoreRegionWrong, StoreBucketMissing,
		StoreRefusesChecksum, StoreClockDiffers, StoreFull, StoreThrottles, StoreUnreachable, StoreCertificateUntrusted:
		return true
	}
	return false
}
