package fakekuma

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.RequestURI())
	set := s.settings
	path, below := strings.CutPrefix(r.URL.Path, set.Prefix+"/")
	listing := cmp.Or(plain[path], path)
	size, offset := paging(r, set)
	page := 1 + offset/size
	var fault *Fault
	if below {
		at := listing
		if path == "" || path == "config" {
			at = "/" + path
		}
		fault = s.fault(at, page)
	}
	s.mu.Unlock()

	if fault != nil && fault.serve(w, r) {
		return
	}
	switch {
	case !below || r.Method != http.MethodGet:
		absent(w)
	case path == "":
		answer(w, r, set, fault, map[string]string{
			"product": "Kuma", "tagline": "Kuma", "hostname": "fake", "instanceId": "fake-1",
			"version": cmp.Or(set.Version, "2.14.0"),
		})
	case set.Token != "" && r.Header.Get("Authorization") != "Bearer "+set.Token:
		(&Fault{Status: http.StatusUnauthorized}).serve(w, r)
	case path == "config":
		answer(w, r, set, fault, config(set))
	case !slices.Contains(Paths, listing) || slices.Contains(set.Absent, listing) || !spelled(path, set.Spelling):
		absent(w)
	default:
		answer(w, r, set, fault, s.page(r, listing, size, offset, fault))
	}
}

// spelled reports whether a listing is at this path in a spelling.
func spelled(path, spelling string) bool {
	switch spelling {
	case "dashes":
		return plain[path] == ""
	case "plain":
		return !strings.Contains(path, "-")
	}
	return true
}

// paging reads which part of a listing is wanted.
func paging(r *http.Request, set Settings) (size, offset int) {
	size = cmp.Or(set.PageSize, 1000)
	if n, err := strconv.Atoi(r.URL.Query().Get("size")); err == nil && n > 0 {
		size = min(size, n)
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("offset")); err == nil && n > 0 {
		offset = n
	}
	return size, offset
}

// page returns a part of a listing, which is made anew for each.
func (s *Server) page(r *http.Request, listing string, size, offset int, fault *Fault) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.items[listing]
	bodies := []json.RawMessage{}
	for _, it := range all[min(offset, len(all)):min(offset+size, len(all))] {
		bodies = append(bodies, it.body)
	}
	told := map[string]any{"total": len(all), "items": bodies, "next": nil}
	if offset+size < len(all) {
		told["next"] = fmt.Sprintf("http://%s%s?offset=%d&size=%d", r.Host, r.URL.Path, offset+size, size)
	}
	if fault != nil {
		told["total"] = len(all) + fault.Total
		if fault.Next != "" {
			told["next"] = fault.next(offset + size)
		}
	}
	return told
}

// config is as much of the configuration as somebody may want to know.
func config(set Settings) any {
	dns := map[string]any{"domain": "mesh", "serviceVipEnabled": set.CIDR != "", "CIDR": cmp.Or(set.CIDR, "240.0.0.0/4")}
	return map[string]any{
		"environment": "universal",
		"mode":        cmp.Or(set.Mode, "zone"),
		"multizone":   map[string]any{"zone": map[string]any{"name": cmp.Or(set.Zone, "default")}},
		"dnsServer":   dns,
	}
}

// answer writes told as JSON.
func answer(w http.ResponseWriter, r *http.Request, set Settings, fault *Fault, told any) {
	body, err := json.MarshalIndent(told, "", " ")
	if err != nil {
		panic(err) // what a test put is no JSON
	}
	w.Header().Set("Content-Type", "application/json")
	if set.ETags {
		tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(body)))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if fault != nil && fault.Cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body[:len(body)/2])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	w.Write(body)
}
