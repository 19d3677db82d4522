// Package etcdstore keeps a table in etcd, for several replicas.
package etcdstore
