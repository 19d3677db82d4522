// Package record holds what a table says as JSON: what backups and the store in
// etcd have in common.
//
// It loses nothing. Texts are strings, or objects {"base64": ...} where they are
// not UTF-8; times of the table's clock are nanoseconds, others Unix seconds; what
// is zero is left out. What a record lacks is zero, and what it has beside is not
// looked at: whoever adds to a record raises the version of the backup or the
// format of the store.
package record
