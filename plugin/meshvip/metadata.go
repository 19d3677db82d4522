package meshvip

import (
	"context"
	"strings"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/request"
	"github.com/meshvip/coredns-meshvip/names"
	"github.com/meshvip/coredns-meshvip/vip"
	"github.com/miekg/dns"
)

// The labels of what plugin metadata is told.
const (
	entryLabel = pluginName + "/entry"
	meshLabel  = pluginName + "/mesh"
	vipLabel   = pluginName + "/vip"
)

// Metadata implements metadata.Provider. Nothing is looked up before somebody
// asks for a value, and then for the name that the query has by that time: it
// passes the plugins that rewrite it after it passes here.
func (h *Handler) Metadata(ctx context.Context, state request.Request) context.Context {
	q := state.Req
	metadata.SetValueFunc(ctx, entryLabel, func() string {
		if r := h.subject(q); r != nil {
			return r.Row.Entry.String()
		}
		return ""
	})
	metadata.SetValueFunc(ctx, meshLabel, func() string {
		if r := h.subject(q); r != nil {
			return strings.Join(shownMeshes(r.Row, h.view), ",")
		}
		return ""
	})
	metadata.SetValueFunc(ctx, vipLabel, func() string {
		var addrs []string
		if r := h.subject(q); r != nil {
			for _, addr := range addressesOf(r) {
				addrs = append(addrs, addr.String())
			}
		}
		return strings.Join(addrs, ",")
	})
	return ctx
}

// subject returns the record of the entry that q asks for by its name or its
// address, whatever type it asks for; nil where it is none that h answers for.
func (h *Handler) subject(q *dns.Msg) *names.Record {
	if len(q.Question) == 0 || !h.table.Loaded() {
		return nil
	}
	name, zones := vip.Fold(q.Question[0].Name), h.zones()
	z, rn := zones.match(name)
	if z == nil {
		z = zones.giftOf(h.view, rn, q.Question[0].Qtype)
	}
	if z == nil {
		return nil
	}
	n := zones.find(h.view, name, z, rn, h.suffixes)
	if addr, ok := rn.address(); ok && n.ptr != "" {
		return h.view.Reverse(addr)
	}
	return n.owner
}

// shownMeshes returns the meshes that list row, of those that v shows.
func shownMeshes(row *vip.Row, v *names.View) []string {
	var meshes []string
	for i := range row.Listings {
		if mesh := row.Listings[i].Mesh; v.Shows(mesh) {
			meshes = append(meshes, mesh)
		}
	}
	return meshes
}
