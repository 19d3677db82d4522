package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meshvip/coredns-meshvip/admin"
)

// entryText writes all that is known of an entry.
func entryText(p *page, e admin.Explained, unknown []string, now time.Time) {
	p.title("%s (%s)", e.Row.Entry, e.Row.Kind)
	for _, h := range e.Held {
		p.field("address", "%s", heldWords(h, now))
		if h.Misplaced != "" {
			p.warn("misplaced", "%v: %s", h.Address, h.Misplaced)
		}
	}
	if len(e.Held) == 0 {
		p.warn("address", "none")
	}
	if e.Row.Follows && len(e.Row.Given) == 0 {
		p.warn("", "only Kuma gives it addresses, and has given none yet")
	}
	for _, w := range e.Waiting {
		p.warn("waiting", "for an address of family %s: %s", w.Family, w.Reason)
	}
	for _, r := range e.Refused {
		p.warn("refused", "%s", refusedWords(r))
	}
	for _, m := range e.Moves {
		p.warn("would move", "from %v to %v by plan %s, which waits: %s", m.From, m.To, e.Plan, m.Why)
	}
	for _, h := range e.Holds {
		p.warn("held", "mesh %s no longer lists it; kept by hold %s: %s", h.Mesh, h.Name, h.Reason)
	}
	ptr(p, e.Held)
	entryNames(p, e.Names, slices.Contains(unknown, "names"))
	for _, l := range e.Row.Listings {
		p.field("mesh", "%s", listingWords(e.Row.Entry, l))
	}
	for i, r := range e.Resources {
		p.field(only(i == 0, "asked by"), "%s", resourceWords(r))
	}
	for _, a := range e.Past {
		p.field("had", "%s", pastWords(a, now))
	}
}

// ptr writes the name that a reverse lookup of each address gives.
func ptr(p *page, held []admin.HeldAddress) {
	label := "PTR"
	for _, h := range held {
		if h.PTR != "" {
			p.field(label, "%v is %s", h.Address, h.PTR)
			label = ""
		}
	}
}

// entryNames writes the names that an entry claims, those that it lost too.
func entryNames(p *page, names []admin.EntryName, unknown bool) {
	for i, n := range names {
		label := only(i == 0, "names")
		switch {
		case n.Has:
			p.field(label, "%s", joined(", ", n.Name, n.How))
		case n.Owner != "":
			p.warn(label, "%s", joined(": ", fmt.Sprintf("%s, which %s has", n.Name, n.Owner), joined("; ", n.Reason, local(n.Local))))
		default:
			p.warn(label, "%s", joined(": ", n.Name+", which is not answered for it", joined("; ", n.Reason, local(n.Local))))
		}
	}
	if len(names) == 0 && !unknown {
		p.warn("names", "none")
	}
}

// heldWords says how an entry has an address.
func heldWords(h admin.HeldAddress, now time.Time) string {
	how := h.How
	if how == admin.ByKuma {
		how = "given by Kuma"
	}
	words := joined(", ", h.Address.String(), how)
	if h.Pool.IsValid() {
		words += ", pool " + h.Pool.String()
	}
	if !h.Since.IsZero() {
		words += ", since " + when(h.Since, now)
	}
	return words
}

// refusedWords says which static address an entry does not have.
func refusedWords(r admin.Refused) string {
	if r.Address.IsValid() && !strings.Contains(r.Reason, r.Address.String()) {
		return fmt.Sprintf("static address %v: %s", r.Address, r.Reason)
	}
	return r.Reason
}

// listingWords says what a mesh says of an entry.
func listingWords(entry string, l admin.Listing) string {
	words := []string{l.Mesh}
	if !strings.HasSuffix(entry, l.Name) {
		words = append(words, "spelled "+l.Name)
	}
	if len(l.Outbounds) > 0 {
		words = append(words, outboundWords(l.Outbounds))
	}
	if len(l.Static) > 0 {
		words = append(words, "asks for "+strings.Join(addresses(l.Static), " and "))
	}
	if len(l.Given) > 0 {
		words = append(words, "Kuma gave "+strings.Join(addresses(l.Given), " and "))
	}
	return strings.Join(words, ", ")
}

// outboundWords says on which ports proxies reach an entry, with the tags that
// say more than its service.
func outboundWords(list []admin.Outbound) string {
	var words []string
	for _, o := range list {
		port := fmt.Sprintf("port %d", o.Port)
		if o.Port == 0 {
			port = "port 80 by default"
		}
		var tags []string
		for k, v := range o.Tags {
			if k != "kuma.io/service" {
				tags = append(tags, k+"="+v)
			}
		}
		if slices.Sort(tags); len(tags) > 0 {
			port += " (" + strings.Join(tags, ", ") + ")"
		}
		if !slices.Contains(words, port) {
			words = append(words, port)
		}
	}
	return strings.Join(words, ", ")
}

// resourceWords says which resource asks for an entry, and where it stands.
func resourceWords(r admin.Resource) string {
	name := r.Name
	if r.ResourceMesh != "" {
		name = r.ResourceMesh + "/" + name
	}
	words := r.Type + " " + name
	if r.Mesh != r.ResourceMesh {
		words += " in mesh " + r.Mesh
	}
	return joined(", ", words, r.Place)
}

// pastWords says when an entry gave an address back, and whether it is kept.
func pastWords(a admin.AddressState, now time.Time) string {
	words := a.Address.String()
	if !a.Since.IsZero() {
		words += ", given up " + when(a.Since, now)
	}
	if !a.Until.IsZero() {
		words += ", kept for it until " + when(a.Until, now)
	}
	return words
}
