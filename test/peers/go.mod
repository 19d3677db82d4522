module github.com/meshvip/coredns-meshvip/test/peers

go 1.26.0

require (
	github.com/docker/docker v28.5.2+incompatible
	github.com/meshvip/coredns-meshvip v0.0.0
)

require (
	github.com/containerd/errdefs v1.0.0 // indirect
	github.com/containerd/log v0.2.0 // indirect
	github.com/google/btree v1.1.3 // indirect
	github.com/ishidawataru/sctp v0.0.0-20251114114122-19ddcbc6aae2 // indirect
	github.com/sirupsen/logrus v1.10.2 // indirect
	go4.org/netipx v0.0.0-20260823151212-3075585bcbeb // indirect
	golang.org/x/sys v0.50.0 // indirect
	gotest.tools/v3 v3.5.2 // indirect
)

replace github.com/meshvip/coredns-meshvip => ../..
