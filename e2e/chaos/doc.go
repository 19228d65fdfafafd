// Command chaos runs a random, repeatable story against a real Velero in the
// lab, records what the cluster shows meanwhile, and judges every job at every
// second from that recording alone. The rest of the recording is the truth: a
// job that is called stuck or orphaned although Velero goes on with it by itself
// is a false alarm, and a dead job that is not called so within a minute of its
// expected time is a miss.
//
// Which jobs are dead follows from the injected faults: each [Death] has a time
// by which Velero's source and the flags of the run leave nothing to wait for.
//
// `make chaos SEED=1` runs a story, `make chaos-judge RECORDING=FILE` judges a
// recording again without one. Only veltui_judge.go knows veltui's diagnosis.
package main
