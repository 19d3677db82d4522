package admin

import (
	_ "embed"
	"net/http"
	"net/url"

	"github.com/meshvip/coredns-meshvip/allocator"
)

//go:embed openapi.yaml
var openapi []byte

// document answers with the document of the interface.
func (h *handler) document(w http.ResponseWriter, _ *http.Request, _ url.Values) (any, error) {
	head(w, "application/yaml")
	_, _ = w.Write(openapi)
	return nil, nil
}

// backup writes a backup of one state of the table. An error on the way cuts it
// off: its last line, a digest, is missing then.
func (h *handler) backup(w http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	return nil, h.once("the backup", func() error {
		state, err := h.t.Alloc.State(r.Context())
		if err != nil {
			return err
		}
		head(w, "application/x-ndjson")
		if r.Method == http.MethodHead {
			return nil
		}
		if err := allocator.WriteBackup(w, state); err != nil {
			panic(http.ErrAbortHandler) // the status is gone: the client must see that it is not whole
		}
		return nil
	})
}
