// Package scene reads scenes: files in YAML that show a cluster at one moment, with all times relative to now. The
// demo serves scenes, and tests of verdicts judge them. Use [Load] to read a scene.
//
// A scene has the objects as the API server returns them, the object store's files for one job, and the last lines of
// the server's log:
//
//	name: the last patch of a restore was lost
//	source: where it is written that this is so
//	expect: {job: restore/shop, state: [stuck], never: [progressing], remedies: [finalize]}
//	objects:
//	  - {apiVersion: velero.io/v1, kind: Restore, metadata: {name: shop, namespace: velero, creationTimestamp: "-44m"}}
//	stored:
//	  RestoreLog: {modified: "-40m"}
//	logs: ['[-41m] time=... level=info msg="restore completed"']
//
// The store serves a file compressed, as Velero stores it, unless the scene says plain: true.
//
// A string that is a signed duration ("-40m", "+2h") is a time relative to now.
// Durations without a sign stay as they are.
package scene
