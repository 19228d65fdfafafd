// Package filetype tells from its first bytes what a file or an answer is: a proxy's page, an error document of an
// object store, or a file packed in another way, where Velero's own file was expected. Pure.
package filetype
