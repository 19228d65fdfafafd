// Package etcd interprets OpenShift's own backups of etcd: what the objects say, and what is wrong with them. It is
// pure and only reads; veltui changes none of these objects, which belong to the cluster-etcd-operator and are a
// preview.
//
// An EtcdBackup (operator.openshift.io/v1alpha1) is one backup. A Backup (config.openshift.io/v1alpha1) is a
// schedule: the operator makes a CronJob of its name, the CronJob's Job makes an EtcdBackup of the Job's name, and
// for that EtcdBackup the operator makes the Job that writes the files. Both kinds are behind the feature gate
// AutomatedEtcdBackup, so most clusters have neither.
//
// The rules come from github.com/openshift/cluster-etcd-operator at b4786ae33 (release-5.0), whose parts named here
// are the same on the branches release-4.18 to release-4.22; the kinds from github.com/openshift/api at 2a3d73913
// (operator/v1alpha1/types_etcdbackup.go, config/v1alpha1/types_backup.go). Comments name the file and the function
// of each rule.
package etcd
