package fakekuma

import (
	"fmt"
	"net/http"
	"strings"
)

// Fault is something that goes wrong. Empty fields change nothing, and several may
// be set.
type Fault struct {
	// Path is the listing that it befalls; "*" for all, "/" and "/config" for what
	// is no listing.
	Path string
	// Page is the page that it befalls, from 1; 0 for all.
	Page int
	// Times is how often it does; 0 for ever.
	Times int

	// Before is called first, for example to remove what an earlier page had.
	Before func()
	// Silent says that nothing is answered until the request is given up.
	Silent bool
	// Redirect is where it redirects to.
	Redirect string
	// Status is answered, with Kuma's words for it, and RetryAfter as well.
	Status     int
	RetryAfter string
	// HTML says that the answer is a page for people.
	HTML bool
	// Body is answered instead.
	Body string
	// Cut says that the connection breaks in the middle of the answer.
	Cut bool
	// Total is added to the total of the listing.
	Total int
	// Next is told as the URL of the next page. %d in it is the offset.
	Next string
}

// fault returns what befalls a page, nil if nothing does.
func (s *Server) fault(path string, page int) *Fault {
	for _, f := range s.settings.Faults {
		if f.Times < 0 || f.Path != "*" && f.Path != path || f.Page != 0 && f.Page != page {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				f.Times = -1 // spent
			}
		}
		return f
	}
	return nil
}

// serve answers in the place of the control plane, and reports whether it did.
func (f *Fault) serve(w http.ResponseWriter, r *http.Request) bool {
	if f.Before != nil {
		f.Before()
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case f.Silent:
		<-r.Context().Done()
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect, http.StatusFound)
	case f.HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, "<!doctype html><title>Kuma</title>")
	case f.Body != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, f.Body)
	case status == http.StatusNotFound:
		absent(w)
	case status != http.StatusOK:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"/std-errors","status":%d,"title":%q}`, status, http.StatusText(status))
	default:
		return false
	}
	return true
}

// absent answers for a path that there is not.
func absent(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, "404: Page Not Found")
}

// next returns what is told as the URL of the next page.
func (f *Fault) next(offset int) string {
	if strings.Contains(f.Next, "%d") {
		return fmt.Sprintf(f.Next, offset)
	}
	return f.Next
}
