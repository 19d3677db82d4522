package etcdstore

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// newClient makes a client, which connects when it is first used. last returns
// the error of the last attempt to make a connection secure.
func newClient(cfg Config) (c *clientv3.Client, last func() error, err error) {
	last = func() error { return nil }
	options := []grpc.DialOption{
		// An etcd that was away for an hour is found a few seconds after it is back.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: cfg.Timeout,
		}),
	}
	if cfg.secure() {
		h, err := newHandshakes(cfg)
		if err != nil {
			return nil, nil, err
		}
		last = func() error {
			if err := h.last.Load(); err != nil {
				return *err
			}
			return nil
		}
		options = append(options, grpc.WithTransportCredentials(h))
	}
	var t *tokens
	if cfg.Username != "" {
		if _, err := cfg.password(); err != nil {
			return nil, nil, err
		}
		t = &tokens{cfg: cfg}
		options = append(options, grpc.WithPerRPCCredentials(t), grpc.WithChainUnaryInterceptor(t.renew))
	}
	c, err = clientv3.New(clientv3.Config{
		Endpoints: cfg.Endpoints, DialOptions: options, Logger: zap.NewNop(),
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: cfg.Timeout,
	})
	if err == nil && t != nil {
		t.conn = c.ActiveConnection()
	}
	return c, last, err
}
