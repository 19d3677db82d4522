package kumaapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// end is the offset of the page after the last one.
const end = -1

// body is what one answer of a listing says.
type body struct {
	total int
	next  int // the offset of the next page, or end
	items []json.RawMessage
}

var errNoListing = errors.New("the answer is JSON, but no listing with items and total: check that the URL is that of a control plane's API")

// parse reads the answer of a listing. Of the URL of the next page only the
// offset is taken: it repeats the scheme and host of the request as the control
// plane saw it, which behind a proxy is another one.
func parse(data []byte) (body, error) {
	var told struct {
		Total *int    `json:"total"`
		Items list    `json:"items"`
		Next  *string `json:"next"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return body{}, fmt.Errorf("the answer is no listing in JSON (%w): it was cut short, or something else than a control plane gave it", err)
	}
	if told.Total == nil || *told.Total < 0 || !told.Items.told || told.Items.items == nil && *told.Total > 0 {
		return body{}, errNoListing
	}
	b := body{total: *told.Total, next: end, items: told.Items.items}
	if told.Next == nil || *told.Next == "" {
		return b, nil
	}
	u, err := url.Parse(*told.Next)
	if err == nil {
		b.next, err = strconv.Atoi(u.Query().Get("offset"))
	}
	if err != nil || b.next <= 0 {
		return body{}, fmt.Errorf("the URL of the next page, %.200q, has no offset that can be followed: check what stands between here and the control plane", *told.Next)
	}
	return b, nil
}

// list is a list of items, which may be null where it is empty, but has to be told.
type list struct {
	told  bool
	items []json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *list) UnmarshalJSON(data []byte) error {
	l.told = true
	return json.Unmarshal(data, &l.items)
}
