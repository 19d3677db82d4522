package admin

import (
	_ "embed"
	"net/http"
	"net/url"
)

//go:embed openapi.yaml
var openapi []byte

// document answers with the document of the interface.
func (h *handler) document(w http.ResponseWriter, _ *http.Request, _ url.Values) (any, error) {
	head(w, "application/yaml")
	_, _ = w.Write(openapi)
	return nil, nil
}

func (h *handler) backup(w http.ResponseWriter, r *http.Request, _ url.Values) (any, error) {
	return nil, h.unknown("backups")
}
