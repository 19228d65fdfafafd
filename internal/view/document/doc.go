// Package document has the documents that veltui prints for programs: what commands write with -o json and -o
// yaml. A thing that several documents hold, such as a job, a verdict or a message, has one type here, and one
// function that fills it; types of other packages stand in documents as they are where they have JSON names.
//
// Documents are made of strings, booleans, whole numbers, [Number] and [Moment], all of which can be
// written whatever they hold, and [Encode] writes them. Fields are added over time and never renamed.
// docs/json.md explains the fields, and docs/schema has a schema of each document, made from these types.
//
// The package is pure.
package document
