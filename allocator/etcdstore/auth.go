package etcdstore

import (
	"context"
	"errors"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tokens says who asks: it trades a password for a token when one is needed.
//
// etcd's client would do so when it is made, and wait until etcd is there; and it
// would keep to the password that it was given.
type tokens struct {
	cfg   Config
	conn  *grpc.ClientConn // set before the first request
	mu    sync.Mutex
	token string
	valid bool
}

// GetRequestMetadata implements [google.golang.org/grpc/credentials.PerRPCCredentials].
func (t *tokens) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	var service string
	if len(uri) > 0 {
		service = uri[0][strings.LastIndexByte(uri[0], '/')+1:]
	}
	if service == "etcdserverpb.Auth" {
		return nil, nil
	}
	// A stream tells of an expired token only when it is too late to try again.
	token, err := t.get(ctx, service == "etcdserverpb.Watch")
	if err != nil || token == "" {
		return nil, err
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
}

// RequireTransportSecurity implements
// [google.golang.org/grpc/credentials.PerRPCCredentials].
func (t *tokens) RequireTransportSecurity() bool { return false }

// get returns the token; "" where etcd has no users.
func (t *tokens) get(ctx context.Context, fresh bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.valid && !fresh {
		return t.token, nil
	}
	password, err := t.cfg.password()
	if err != nil {
		return "", status.Error(codes.Unauthenticated, err.Error())
	}
	resp, err := pb.NewAuthClient(t.conn).Authenticate(ctx, &pb.AuthenticateRequest{Name: t.cfg.Username, Password: password})
	switch {
	case err == nil:
		t.token = resp.Token
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled):
		t.token = ""
	case status.Code(err) == codes.InvalidArgument, status.Code(err) == codes.FailedPrecondition:
		// These are not a token's to return, gRPC says.
		return "", status.Error(codes.Unauthenticated, rpctypes.ErrorDesc(err))
	default:
		return "", err
	}
	t.valid = true
	return t.token, nil
}

// renew asks once more with a new token where etcd does not take the one that it
// was given: it has expired, etcd was started again, or users were changed. What
// was refused so was not done.
func (t *tokens) renew(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if err == nil {
		return nil
	}
	switch rpctypes.Error(err) {
	case rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty:
		t.mu.Lock()
		t.valid = false
		t.mu.Unlock()
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	return err
}
