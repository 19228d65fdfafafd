package artifact

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxAnswer is how much of an error's body is read.
const maxAnswer = 16 << 10

// answer is what S3, Google Cloud Storage and Azure Blob Storage say when they
// do not hand out an object.
type answer struct {
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

// placeMissing are the codes of a 404 that says nothing about the object,
// because the place that it would be in is not there.
var placeMissing = []string{"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "AccountNotFound", "ResourceNotFound"}

// storeError is the error that an answer other than success stands for.
func storeError(response *http.Response, signed signedURL) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var a answer
	_ = xml.Unmarshal(text, &a) // Whoever answers may speak another language.
	if a.Code == "" {
		a.Code = response.Header.Get("X-Ms-Error-Code")
	}
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
	return fmt.Errorf("%s", said)
}

// hasExpired reports whether an answer is about the URL's age: S3 says "Request
// has expired" or ExpiredToken, Google ExpiredToken, Azure that the signature
// is not valid in the specified time frame.
func hasExpired(status int, a answer) bool {
	if status != http.StatusForbidden && status != http.StatusBadRequest && status != http.StatusUnauthorized {
		return false
	}
	return strings.HasPrefix(a.Code, "Expired") ||
		strings.Contains(strings.ToLower(a.Message), "expired") ||
		strings.Contains(a.Message, "not valid in the specified time frame")
}
