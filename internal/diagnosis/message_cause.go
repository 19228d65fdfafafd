package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// messageCause is a row of the table of causes: what a message shows. A * stands for any text, a ~ for text without
// spaces, such as a name.
type messageCause struct {
	reason   Reason
	patterns []string
	// needsStore is true if the message shows the reason only where it is about the object store: any connection can
	// fail in the same words.
	needsStore bool
}

// ClassifyMessage returns what a message of Velero, of a plugin, of an object store or of the API server shows, no
// reason if the message is in no row of the table.
func ClassifyMessage(message string) Reason {
	return classifiedMessages.reasonOf(message, func() Reason {
		message := strings.ToLower(message)
		return classifyMessage(message, namesStore(message))
	})
}

// maxClassified is how many messages are remembered with their reasons.
const maxClassified = 4096

// classifiedMessages remembers what messages show: a job that has ended says the same at each judgement.
var classifiedMessages reasonCache

type reasonCache struct {
	mu      sync.Mutex
	reasons map[string]Reason
}

// reasonOf returns the reason of a message, found by find unless it is remembered.
func (c *reasonCache) reasonOf(message string, find func() Reason) Reason {
	c.mu.Lock()
	reason, isKnown := c.reasons[message]
	c.mu.Unlock()
	if isKnown {
		return reason
	}
	reason = find()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reasons == nil || len(c.reasons) >= maxClassified {
		c.reasons = map[string]Reason{}
	}
	c.reasons[strings.Clone(message)] = reason
	return reason
}

// classifyStoreMessage is [ClassifyMessage] for a message that is about the object store, whatever its words.
func classifyStoreMessage(message string) Reason {
	return classifyMessage(strings.ToLower(message), true)
}

// storeWords are words that only messages about the object store have: of Velero (pkg/persistence/object_store.go,
// pkg/plugin/framework/object_store_server.go), and of the libraries of the stores.
var storeWords = []string{
	"operation error s3", "object store", "object storage", "storage location", "backupstoragelocation",
	"putting object", "getting object", "listing objects", "headobject", "getobject", "putobject",
	"listobjects", "blob.core", "storage.googleapis", "//minio", "lookup minio", "amazonaws.com",
	"velero-backup.json",
}

// storeNouns are words about the object store that kinds of Kubernetes also have in their names, such as
// objectbucketclaims.objectbucket.io.
var storeNouns = regexp.MustCompile(`(?:^|[\s"'(:=])(?:bucket|objectstore)(?:[\s"'):,;=]|\.?$|\.\s)`)

// namesStore reports whether a message is about the object store. What names a path of the API server is about that.
func namesStore(message string) bool {
	if strings.Contains(message, "/api/v1/") || strings.Contains(message, "/apis/") {
		return false
	}
	return storeNouns.MatchString(message) ||
		slices.ContainsFunc(storeWords, func(word string) bool { return strings.Contains(message, word) })
}

func classifyMessage(message string, isAboutStore bool) Reason {
	message = " " + message // so that a pattern that begins with a space fits the first word
	for i := range messageCauses {
		if messageCauses[i].needsStore && !isAboutStore {
			continue
		}
		for _, pattern := range messageCauses[i].patterns {
			if containsPattern(message, pattern) {
				return messageCauses[i].reason
			}
		}
	}
	return Reason{}
}

// containsPattern reports whether the parts between the wildcards stand in a text, in their order. A pattern begins and
// ends with text.
func containsPattern(text, pattern string) bool {
	i := strings.IndexAny(pattern, "*~")
	if i < 0 {
		return strings.Contains(text, pattern)
	}
	for {
		at := strings.Index(text, pattern[:i])
		if at < 0 {
			return false
		}
		text = text[at+i:]
		if pattern[i] == '*' {
			return containsPattern(text, pattern[i+1:])
		}
		if continuesInWord(text, pattern[i+1:]) {
			return true
		}
	}
}

// continuesInWord reports whether a pattern begins within the word with which a text begins.
func continuesInWord(text, pattern string) bool {
	i := strings.IndexAny(pattern, "*~")
	if i < 0 {
		i = len(pattern)
	}
	at, wordEnd := strings.Index(text, pattern[:i]), strings.IndexAny(text, " \t\n")
	if at < 0 || wordEnd >= 0 && at > wordEnd {
		return false
	}
	text = text[at+i:]
	switch {
	case i == len(pattern):
		return true
	case pattern[i] == '*':
		return containsPattern(text, pattern[i+1:])
	}
	return continuesInWord(text, pattern[i+1:])
}

// messageCauses is the table of causes. The first row that fits a message counts, so that the more precise rows come
// first: most messages are wrapped in what Velero was doing.
var messageCauses = ignoreCase([]messageCause{
	// Velero's server marks what was in progress when it starts (pkg/cmd/server/server.go markInProgressBackupsFailed,
	// markInProgressRestoresFailed, markDataUploadsCancel and its siblings, 1.11 to 1.18.3).
	{reason: ServerEnded, patterns: []string{
		"found a backup with status * during the server starting",
		"found a restore with status * during the server starting",
		"is in status * during the velero server starting",
	}},

	// The node-agent does the same (pkg/cmd/cli/nodeagent/server.go markInProgressPVBsFailed, and up to 1.15
	// markDataUploadsCancel, markDataDownloadsCancel).
	{reason: NodeAgentEnded, patterns: []string{
		"during the node-agent starting", "podvolume* with status * during the server starting",
		"podvolumerestore with status * during the server starting",
	}},

	// What the API server says of a request (k8s.io/apiserver/pkg/admission/plugin/webhook/errors, plugin/policy, and
	// k8s.io/pod-security-admission), before all codes: webhooks and policies quote anything.
	{reason: WebhookDenies, patterns: []string{`admission webhook "~" denied the request`}},
	{reason: PolicyDenies, patterns: []string{
		"ValidatingAdmissionPolicy '~' with binding '~' denied request", "ValidatingAdmissionPolicy '~' denied request",
		"policy '~' with binding '~' denied request",
	}},
	{reason: PodSecurityDenies, patterns: []string{"violates PodSecurity"}},
	{reason: WebhookUnreachable, patterns: []string{
		"failed calling webhook", "failed to call webhook", "conversion webhook for",
	}},

	// Snapshots (pkg/util/csi/volume_snapshot.go; up to 1.13 the plugin velero-plugin-for-csi), before the codes of
	// stores: drivers of the same clouds have the same codes.
	{reason: SnapshotFailed, patterns: []string{
		"failed to take snapshot", "failed to take a snapshot", "failed to create snapshot",
		"failed to check and update snapshot content", "CSI snapshot * failed",
	}},

	// Error codes of S3 (Amazon S3 API reference, "Error responses"; MinIO, cmd/api-errors.go), of Azure Blob Storage
	// ("Blob service error codes") and of Google Cloud Storage. Checksums come before other answers with 400 and 403.
	{reason: StoreRefusesChecksum, patterns: []string{
		"XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "BadDigest", "x-amz-checksum",
		"x-amz-sdk-checksum", "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"NotImplemented: A header you provided implies functionality",
	}},
	{reason: StoreCredentialsExpired, patterns: []string{
		"ExpiredToken", "TokenRefreshRequired", "RequestExpired", "Request has expired",
		"security token included in the request is expired", "ID token has expired", "AADSTS7000222",
		"refresh token has expired",
	}},
	{reason: StoreCredentialsWrong, patterns: []string{
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidClientTokenId",
		"UnrecognizedClientException", "NoCredentialProviders", "failed to refresh cached credentials",
		"no EC2 IMDS role found", "unable to get credentials:", "AuthenticationFailed", "invalid_grant", "AADSTS7000215",
		"could not find default credentials",
	}},
	{reason: StoreCredentialsWrong, patterns: []string{"StatusCode: 401", "Error 401"}, needsStore: true},
	{reason: StoreClockDiffers, patterns: []string{"RequestTimeTooSkewed"}},
	// Native snapshots (pkg/backup/item_backupper.go takePVSnapshot): their plugins have the credentials of the store,
	// but not its other errors.
	{reason: SnapshotFailed, patterns: []string{"error taking snapshot of volume"}},
	{reason: StoreRegionWrong, patterns: []string{
		"AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraint",
		"incorrect region", "bucket is in this region",
	}},
	{reason: StoreBucketMissing, patterns: []string{
		"NoSuchBucket", "ContainerNotFound", "bucket does not exist", "bucket doesn't exist",
	}},
	// pkg/persistence/object_store.go IsValid.
	{reason: StoreHoldsOthers, patterns: []string{"contains invalid top-level directories"}},
	{reason: StoreFull, patterns: []string{
		"XMinioStorageFull", "minimum free drive threshold", "XMinioAdminBucketQuotaExceeded",
		"Bucket quota exceeded", "api error QuotaExceeded", "InsufficientStorage", "StatusCode: 507",
		"storage quota",
	}},
	// nginx's page, which clients of stores hand on, and Azure's code. The API server's own words are among those of
	// ObjectRefused.
	{reason: StoreRefusesSize, patterns: []string{
		"<title>413", "413 Request Entity Too Large", "413 Payload Too Large", "413 Content Too Large",
		"RequestBodyTooLarge",
	}},
	{reason: StoreRefusesSize, patterns: []string{"StatusCode: 413"}, needsStore: true},
	{reason: StoreThrottles, patterns: []string{
		"SlowDown", "ServerBusy", "TooManyRequests",
	}},
	{reason: StoreThrottles, patterns: []string{"StatusCode: 429", "StatusCode: 503"}, needsStore: true},
	{reason: StoreDenies, patterns: []string{
		"AccessDenied", "AllAccessDisabled", "AccountProblem", "AuthorizationFailure",
		"AuthorizationPermissionMismatch", "AccountIsDisabled", "InsufficientAccountPermissions",
		"does not have storage.",
	}},
	{reason: StoreDenies, patterns: []string{"StatusCode: 403", "Error 403"}, needsStore: true},

	// The API server: its plugins resourcequota and lifecycle, and k8s.io/apimachinery/pkg/api/errors.
	{reason: QuotaExceeded, patterns: []string{"exceeded quota:", "failed quota:"}},
	{reason: LimitRangeRefuses, patterns: []string{
		"is forbidden: * usage per ", "is forbidden: * max limit to request ratio per ",
	}},
	// Velero only looks for namespaces that the job names (pkg/backup/item_collector.go) or has just listed or made.
	{reason: NamespaceMissing, patterns: []string{"fail to get the namespace ~ specified in"}},
	{reason: NamespaceDeleted, patterns: []string{
		"because it is being terminated", "terminating namespace * to disappear", `namespaces "~" not found`,
	}},
	{reason: StorageClassMissing, patterns: []string{
		`storageclass.storage.k8s.io "~" not found`, `storageclasses.storage.k8s.io "~" not found`,
		"storageclass ~ not found", "storage class ~ not found",
	}},
	{reason: RightsMissing, patterns: []string{"is forbidden: User ", `cannot ~ resource "`}},
	{reason: KindMissing, patterns: []string{
		"no matches for kind", "the server could not find the requested resource",
		"resource not found in the cluster",
	}},
	// A rule of a CRD in CEL has the value "object" or names itself, unlike the type of a field
	// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go). The forms of the others are those of
	// k8s.io/apimachinery/pkg/util/validation/field.
	{reason: RuleBroken, patterns: []string{"failed rule: ", `" is invalid: * invalid value: "object": `}},
	{reason: ObjectRefused, patterns: []string{
		"request is too large", "Request entity too large: limit is ", "Too long: may not be more than",
		"field is immutable", "forbidden: spec is immutable", "may not change once set",
		`" is invalid: * invalid value: `, `" is invalid: * required value`, `" is invalid: * unsupported value: `,
		`" is invalid: * forbidden: `, `" is invalid: * duplicate value: `, `" is invalid: * too long: `,
		`" is invalid: * too many: `, `" is invalid: * not found: `, `" is invalid: * internal error: `,
		"provided port is already allocated", "provided IP is already allocated", "strict decoding error",
		`unknown field "`,
	}},
	{reason: APIServerFailed, patterns: []string{
		"etcdserver: ", "the object has been modified", "the server is currently unable to handle the request",
		"client rate limiter Wait", "the server was unable to return a response",
		"unable to retrieve the complete list of server APIs",
	}},

	// internal/resourcepolicies/resource_policies.go, and pkg/controller/restore_controller.go validateAndComplete.
	{reason: ConfigMapMissing, patterns: []string{
		"fail to get ResourcePolicies * not found", "fail to get global backup volume policies * not found",
		"failed to get resource modifiers configmap",
	}},
	{reason: ConfigMapInvalid, patterns: []string{
		"ResourcePolicies from ConfigMap", "ResourcePolicies in ConfigMap", "global backup volume policies",
		"resource modifiers provided in configmap",
	}},

	// internal/resourcemodifiers: json_patch.go, json_merge_patch.go, strategic_merge_patch.go, resource_modifiers.go.
	{reason: ModifierFailed, patterns: []string{
		"error in applying JSON Patch", "error in applying Strategic Patch", "error in applying patch",
		"error in decoding json patch", "error in matching regex", "error in creating label selector",
	}},

	// Disks: the errors of the system calls (ENOSPC, EDQUOT), wherever they are wrapped.
	{reason: VolumeFull, patterns: []string{"no space left on device", "disk quota exceeded", "not enough space"}},

	{reason: SnapshotClassMissing, patterns: []string{
		"failed to get VolumeSnapshotClass", "error getting VolumeSnapshotClass",
		"did not find a VolumeSnapshotClass", "volumesnapshotclass* not found",
	}},
	{reason: SnapshotFailed, patterns: []string{
		"volumesnapshot* timed out", "volumesnapshot* timeout", "volumesnapshot* not ready", "fail to wait VolumeSnapshot",
	}},

	// Movers (pkg/controller/data_upload_controller.go onPrepareTimeout and its siblings; pkg/exposer; up to 1.14.0
	// pkg/util/kube/pod.go IsPodUnrecoverable counts Unschedulable).
	{reason: MoverNotScheduled, patterns: []string{"Pod is unschedulable", "nodes are available:"}},
	{reason: MoverNotReady, patterns: []string{
		"timeout on preparing", "error to expose", "expose error", "in abnormal state", "is in unrecoverable",
		"ErrImagePull", "ImagePullBackOff",
	}},

	// pkg/podvolume/backupper.go and restorer.go, and the movers' own limits in pkg/datamover.
	{reason: VolumesTimedOut, patterns: []string{
		"timed out waiting for all PodVolume", "timed out waiting for fs backup to complete",
		"timed out waiting for fs restore to complete",
	}},

	// pkg/nodeagent/node_agent.go isRunningInNode and KbClientIsRunningInNode.
	{reason: NodeAgentNotRunning, patterns: []string{
		"daemonset pod not found in running state", "node-agent is not running in node", "node-agent is not ready",
		"daemonset not found",
	}},

	// pkg/controller/backup_operations_controller.go and restore_operations_controller.go.
	{reason: OperationTimedOut, patterns: []string{"Asynchronous action timed out"}},

	// Kopia (repo/format) and restic.
	{reason: RepositoryPasswordWrong, patterns: []string{"invalid repository password", "wrong password or no key found"}},

	// pkg/plugin/clientmgmt/process/registry.go pluginNotFoundError.
	{reason: PluginMissing, patterns: []string{"unable to locate * plugin named", "unknown service *Plugin"}},

	// pkg/podexec/pod_command_executor.go; internal/hook/item_hook_handler.go and wait_exec_hook_handler.go.
	{reason: HookFailed, patterns: []string{
		" hook * failed", "error executing hook", " hook * timed out",
		"command terminated with exit code",
	}},

	// pkg/controller/restore_finalizer_controller.go patchDynamicPVWithVolumeInfo waits for the claim to be bound, up to
	// the resource timeout.
	{reason: ClaimNotBound, patterns: []string{"fail to patch dynamic PV"}},

	// Validation (pkg/controller/backup_controller.go prepareBackupRequest, restore_controller.go validateAndComplete).
	{reason: LocationWasReadOnly, patterns: []string{"currently in read-only mode"}},
	{reason: LocationWasUnavailable, patterns: []string{
		"is in Unavailable status", "backup storage location * is unavailable", "the BSL ~ is unavailable",
	}},
	{reason: LocationNotFound, patterns: []string{
		"error getting backup storage location", "existing backup storage location was not specified",
		`backupstoragelocations.velero.io "~" not found`, `BackupStorageLocation.velero.io "~" not found`,
	}},
	{reason: BackupNotFound, patterns: []string{
		"error retrieving backup", "no backups found for schedule", "no completed backups found for schedule",
		` backups.velero.io "~" not found`,
	}},

	// The files of a backup (pkg/controller/restore_controller.go runValidatedRestore and downloadToTempFile;
	// pkg/archive/extractor.go UnzipAndExtractBackup, whose error is gzip's or tar's).
	{reason: BackupDamaged, patterns: []string{
		"error downloading backup * does not exist", "gzip: invalid header", "error unzipping and extracting",
		"NoSuchKey", "BlobNotFound",
	}},

	// A cancelled volume carries no cause of its own (pkg/controller/data_upload_controller.go OnDataUploadCancelled).
	{reason: VolumesCancelled, patterns: []string{"is canceled", "cancelled by", "canceled by", "mark it as cancel"}},

	// Networks last: their errors are wrapped in all of the above (Go's crypto/x509, crypto/tls, net and net/http).
	{reason: StoreCertificateUntrusted, patterns: untrustedCertificates, needsStore: true},
	{reason: StoreUnreachable, patterns: brokenConnections, needsStore: true},
	{reason: ConnectionFailed, patterns: slices.Concat(untrustedCertificates, brokenConnections)},

	// Plugins say what they like (pkg/backup/item_backupper.go executeActions, pkg/restore/restore.go restoreItem).
	{reason: PluginFailed, patterns: []string{
		"error executing custom action", "error executing ItemBlock action", "error preparing * rpc error: code = ",
	}},

	// Errors of operations that ended before Velero stored the results (pkg/controller/backup_operations_controller.go
	// getBackupItemOperationProgress, wrapErrMsg).
	{reason: OperationFailed, patterns: []string{", plugin: "}},
})

var (
	untrustedCertificates = []string{
		"x509: certificate", "tls: failed to verify certificate", "certificate signed by unknown authority",
	}
	brokenConnections = []string{
		"no such host", "connection refused", "no route to host", "i/o timeout", "network is unreachable",
		"connection reset by peer", "TLS handshake timeout", "context deadline exceeded", "Client.Timeout exceeded",
		"proxyconnect",
	}
)

// ignoreCase returns the rows with patterns in lower case.
func ignoreCase(rows []messageCause) []messageCause {
	for i := range rows {
		for k, pattern := range rows[i].patterns {
			rows[i].patterns[k] = strings.ToLower(pattern)
		}
	}
	return rows
}
