package kumaapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
)

// controlPlane is what a control plane says of itself. Fields that it does not
// tell are empty.
type controlPlane struct {
	product, version string
	mode             string // in lower case: global, zone, standalone, remote
	zone             string
	// allocates says that it gives VIPs to services itself, out of cidr.
	allocates bool
	cidr      string
}

// global is the mode of a control plane that allocates nothing.
const global = "global"

// index reads what "/" answers.
func (p *controlPlane) index(data []byte) error {
	var told struct{ Product, Tagline, Version string }
	if err := json.Unmarshal(data, &told); err != nil || told.Version == "" {
		return errors.New("the answer names no version: check that the URL is that of a control plane's API")
	}
	p.product, p.version = cmp.Or(told.Product, told.Tagline), told.Version
	return nil
}

// config reads what "/config" answers. Versions before 1.0 have an object with
// the mode, and call a zone remote.
func (p *controlPlane) config(data []byte) error {
	type zone struct{ Name, Zone string }
	var told struct {
		Mode      json.RawMessage
		Multizone struct{ Zone, Remote zone }
		DNSServer struct {
			CIDR              string
			ServiceVipEnabled *bool
		}
	}
	// A field of another type is passed over: versions differ.
	if err := json.Unmarshal(data, &told); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return errors.New("the answer is no configuration in JSON: check that the URL is that of a control plane's API")
	}
	var old struct {
		Mode   string
		Remote zone
	}
	mode := ""
	if json.Unmarshal(told.Mode, &mode) != nil && json.Unmarshal(told.Mode, &old) == nil {
		mode = old.Mode
	}
	if mode == "" {
		return errors.New("the configuration names no mode: check that the URL is that of a control plane's API")
	}
	p.mode = strings.ToLower(mode)
	p.zone = cmp.Or(told.Multizone.Zone.Name, told.Multizone.Remote.Zone, old.Remote.Zone)
	p.cidr = told.DNSServer.CIDR
	p.allocates = p.cidr != "" && (told.DNSServer.ServiceVipEnabled == nil || *told.DNSServer.ServiceVipEnabled)
	return nil
}
