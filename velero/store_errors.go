package velero

import "strings"

// refusals are what object stores answer when nothing but a person helps: the codes of
// S3, of Azure and of Google Cloud for keys, buckets and rights that they do not know
// or give (each store's list of error codes).
var refusals = []string{
	"InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "AllAccessDisabled", "AccountProblem", "NoSuchBucket", "ExpiredToken", "InvalidToken", "PermanentRedirect",
	"AuthenticationFailed", "AuthorizationFailure", "AuthorizationPermissionMismatch", "AccountIsDisabled", "ContainerNotFound", "ResourceNotFound",
	"invalid_grant", "Error 401", "Error 403", "StatusCode: 401", "StatusCode: 403", "no such host", "x509: ", "NotFound: no such",
}

// RefusedByStore reports whether a storage location's message is an answer that will
// not change by itself. What may pass, such as a time-out or a refused connection, is
// none.
func RefusedByStore(message string) bool {
	for _, r := range refusals {
		if strings.Contains(message, r) {
			return true
		}
	}
	return false
}
