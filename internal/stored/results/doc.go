// Package results says what came of a job: what it complained about, and what became of each item. It is pure.
//
// [Group] puts a job's errors and warnings together where they differ only in the resource that they name.
// [Compare] joins what a restore lists and complained about with what its backup holds, so that what did
// not come back has a reason; [Listed] is a job's list alone.
package results
