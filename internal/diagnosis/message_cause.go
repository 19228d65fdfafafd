package diagnosis

import (
	"regexp"
)

// messageCause is a row of the table of causes: what a message shows.
type messageCause struct {
	reason  Reason
	pattern *regexp.Regexp
}

// ClassifyMessage returns what a message of Velero, of a plugin, of an object store or of the API server shows, no
// reason if the message is in no row of the table.
func ClassifyMessage(message string) Reason {
	for _, row := range messageCauses {
		if row.pattern.MatchString(message) {
			return row.reason
		}
	}
	return Reason{}
}

// messageCauses is the table of causes. The first row that fits a message counts, so that the more precise rows come
// first: most messages are wrapped in what Velero was doing.
var messageCauses = []messageCause{
	// Velero's server marks what was in progress when it starts (pkg/cmd/server/server.go markInProgressBackupsFailed,
	// markInProgressRestoresFailed, markDataUploadsCancel and its siblings, 1.11 to 1.18.3).
	{ServerEnded, regexp.MustCompile(`found a (backup|restore) with status .* during the server starting`)},
	{ServerEnded, regexp.MustCompile(`is in status .* during the velero server starting`)},
	// The node-agent does the same (pkg/cmd/cli/nodeagent/server.go markInProgressPVBsFailed, and up to 1.15
	// markDataUploadsCancel, markDataDownloadsCancel; AttemptDataUploadResume and its siblings in pkg/controller).
	{NodeAgentEnded, regexp.MustCompile(`(?i)during the node-agent starting`)},
	{NodeAgentEnded, regexp.MustCompile(`(?i)podvolume\w* with status .* during the server starting`)},
	{NodeAgentEnded, regexp.MustCompile(`(?i)resume .*fail|node-agent restarted`)},

	// Error codes of S3 (Amazon S3 API reference, "Error responses"; MinIO cmd/api-errors.go), Azure Blob Storage ("Blob
	// service error codes") and Google Cloud Storage (XML error codes). Checksums before 403s and 400s.
	{StoreRefusesChecksum, regexp.MustCompile(
		`XAmzContentSHA256Mismatch|XAmzContentChecksumMismatch|BadDigest|x-amz-checksum|x-amz-sdk-checksum|` +
			`STREAMING-UNSIGNED-PAYLOAD-TRAILER|Content-MD5 OR x-amz-checksum|` +
			`NotImplemented: A header you provided implies functionality`,
	)},
	{StoreCredentialsExpired, regexp.MustCompile(
		`ExpiredToken|TokenRefreshRequired|RequestExpired|Request has expired|security token included in the request is ` +
			`expired|ID token has expired|AADSTS7000222|refresh token has expired`,
	)},
	{StoreCredentialsWrong, regexp.MustCompile(
		`InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|InvalidClientTokenId|NoCredentialProviders|` +
			`failed to refresh cached credentials|no EC2 IMDS role found|AuthenticationFailed|invalid_grant|` +
			`AADSTS7000215|could not find default credentials|UnrecognizedClientException|Error 401|StatusCode: 401`,
	)},
	{StoreClockDiffers, regexp.MustCompile(`RequestTimeTooSkewed`)},
	{StoreRegionWrong, regexp.MustCompile(
		`AuthorizationHeaderMalformed|PermanentRedirect|IllegalLocationConstraint|incorrect region|` +
			`TemporaryRedirect|bucket is in this region`,
	)},
	{StoreBucketMissing, regexp.MustCompile(`NoSuchBucket|ContainerNotFound|bucket does not exist|bucket doesn't exist|` +
		`(?i)specified bucket does not exist`)},
	{StoreFull, regexp.MustCompile(
		`XMinioStorageFull|minimum free drive threshold|XMinioAdminBucketQuotaExceeded|Bucket quota exceeded|` +
			`api error QuotaExceeded|InsufficientStorage|StatusCode: 507|AccountBeingCreated|storage quota`,
	)},
	{StoreThrottles, regexp.MustCompile(`SlowDown|ServerBusy|TooManyRequests|RequestLimitExceeded|StatusCode: (429|503)`)},
	{StoreDenies, regexp.MustCompile(
		`AccessDenied|AllAccessDisabled|AccountProblem|AuthorizationFailure|AuthorizationPermissionMismatch|` +
			`AccountIsDisabled|InsufficientAccountPermissions|does not have storage\.|StatusCode: 403|Error 403|` +
			`googleapi: .*forbidden`,
	)},
	// Go's crypto/x509 (verify.go), net (dial.go, net.go) and the AWS SDK's wrapping of them.
	{StoreCertificateUntrusted, regexp.MustCompile(
		`x509: certificate|tls: failed to verify certificate|certificate signed by unknown authority`,
	)},

	// The API server: registry errors of k8s.io/apimachinery/pkg/api/errors, admission of
	// k8s.io/apiserver/pkg/admission/plugin/webhook/errors, resourcequota of k8s.io/apiserver/pkg/admission/plugin.
	{WebhookDenies, regexp.MustCompile(`admission webhook .* denied the request|ValidatingAdmissionPolicy .* denied|` +
		`violates PodSecurity`)},
	{WebhookUnreachable, regexp.MustCompile(`failed calling webhook|failed to call webhook|conversion webhook for`)},
	{QuotaExceeded, regexp.MustCompile(`exceeded quota:|failed quota:|is forbidden: maximum .* usage per`)},
	{NamespaceDeleted, regexp.MustCompile(`because it is being terminated|terminating namespace .* to disappear`)},
	{StorageClassMissing, regexp.MustCompile(`storageclass(es)?\.storage\.k8s\.io .* not found|StorageClass .* not found`)},
	{RightsMissing, regexp.MustCompile(`is forbidden: User |cannot (list|get|create|update|patch|delete|watch) resource`)},
	{KindMissing, regexp.MustCompile(
		`no matches for kind|the server could not find the requested resource|resource not found in the cluster`,
	)},
	{ObjectRefused, regexp.MustCompile(
		`field is immutable|is invalid: |provided (port|IP) is already allocated|strict decoding error|` +
			`unknown field|may not change once set|spec is immutable`,
	)},
	{APIServerFailed, regexp.MustCompile(
		`etcdserver: |the object has been modified|the server is currently unable to handle the request|` +
			`client rate limiter Wait|the server was unable to return a response|leader changed|` +
			`unable to retrieve the complete list of server APIs`,
	)},

	// Disks: the error of the system call (ENOSPC, EDQUOT) wherever it is wrapped.
	{VolumeFull, regexp.MustCompile(`(?i)no space left on device|disk quota exceeded|not enough space|ENOSPC`)},

	// Snapshots (pkg/util/csi/volume_snapshot.go; in 1.13 and before the velero-plugin-for-csi).
	{SnapshotClassMissing, regexp.MustCompile(
		`(?i)failed to get VolumeSnapshotClass|error getting VolumeSnapshotClass|failed to get a? ?volumesnapshotclass|` +
			`did not find a volumesnapshotclass|volumesnapshotclass.* not found`,
	)},
	{SnapshotFailed, regexp.MustCompile(
		`(?i)volumesnapshot(content)?s? .*(error|not ready|timed? ?out|timeout)|failed to take (a )?snapshot|` +
			`failed to check and update snapshot content|error taking snapshot|fail to wait VolumeSnapshot|` +
			`error to expose snapshot: .*(timeout|timed out)|CSI snapshot .* (failed|timed)`,
	)},

	// Movers (pkg/controller/data_upload_controller.go onPrepareTimeout and its siblings; up to 1.15 pkg/util/kube/pod.go
	// IsPodUnrecoverable with "Pod is unschedulable"; pkg/exposer).
	{MoverNotScheduled, regexp.MustCompile(`Pod is unschedulable|nodes are available:`)},
	{MoverNotReady, regexp.MustCompile(
		`timeout on preparing|error to expose|expose error|in abnormal state|is in unrecoverable|ErrImagePull|` +
			`ImagePullBackOff|hosting pod .* (failed|evicted)`,
	)},
	{VolumesTimedOut, regexp.MustCompile(
		`timed out waiting for (all PodVolume|fs (backup|restore) to complete)|timeout on waiting`,
	)},
	// pkg/controller/backup_operations_controller.go and restore_operations_controller.go, getBackupItemOperationProgress.
	{OperationTimedOut, regexp.MustCompile(`(?i)asynchronous action timed out`)},
	// Repositories (kopia repo/format, restic).
	{RepositoryPasswordWrong, regexp.MustCompile(`invalid repository password|wrong password or no key found`)},

	// pkg/plugin/clientmgmt/process/registry.go pluginNotFoundError.
	{PluginMissing, regexp.MustCompile(`unable to locate .* plugin named|unknown service .*Plugin`)},
	// pkg/podexec/pod_command_executor.go, internal/hook/item_hook_handler.go and wait_exec_hook_handler.go.
	{HookFailed, regexp.MustCompile(`(?i)hook.*(fail|error|timed? ?out|exit code)|command terminated with exit code`)},
	// pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo waits for the claim to be bound, up to
	// the resource timeout.
	{ClaimNotBound, regexp.MustCompile(`fail to patch dynamic PV`)},

	// Validation (pkg/controller/backup_controller.go prepareBackupRequest, restore_controller.go validateAndComplete).
	{LocationWasReadOnly, regexp.MustCompile(`currently in read-only mode`)},
	{LocationWasUnavailable, regexp.MustCompile(`is in Unavailable status|backup storage location .* is unavailable`)},
	{LocationNotFound, regexp.MustCompile(
		`error getting backup storage location|existing backup storage location was not specified|` +
			`backupstoragelocations?\.velero\.io .* not found`,
	)},
	{BackupNotFound, regexp.MustCompile(
		`(?i)error retrieving backup|no (completed )?backups? found for schedule|backups?\.velero\.io .* not found`,
	)},

	// Cancelled volumes carry no cause of their own (pkg/controller/data_upload_controller.go OnDataUploadCancelled).
	{VolumesCancelled, regexp.MustCompile(`(?i)is canceled|cancel(l?ed|led)? by|Canceled$`)},

	// Networks last: their errors are wrapped in all of the above.
	{StoreUnreachable, regexp.MustCompile(
		`no such host|connection refused|no route to host|i/o timeout|network is unreachable|connection reset by peer|` +
			`TLS handshake timeout|context deadline exceeded|Client\.Timeout exceeded|proxyconnect`,
	)},
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
