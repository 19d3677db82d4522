package kuma

import (
	"fmt"
	"net/netip"
	"strings"
)

// Bounds of DNS names in bytes (RFC 1035, section 2.3.4), the whole without a
// final dot.
const (
	maxHostname = 253
	maxLabel    = 63
)

// hostname reads a full DNS name and returns it without a final dot. An address
// is none, and nor is a wildcard; underscores are let pass.
func hostname(text string) (string, error) {
	return name(text, "labels of letters, digits and hyphens", func(s string) bool {
		return isDNSLabel(s) && s[len(s)-1] != '-'
	})
}

// dnsName is hostname for the names of VirtualOutbounds, as Kuma checks those: a
// label may also end in a hyphen.
func dnsName(text string) (string, error) {
	return name(text, "labels of letters, digits, hyphens and underscores", isDNSLabel)
}

// subdomain is hostname for generated names, which have to be subdomains as
// Kubernetes understands RFC 1123: in lower case, and without underscores.
func subdomain(text string) (string, error) {
	if strings.HasSuffix(text, ".") {
		return "", fmt.Errorf("%.60q ends in a dot: leave it out", text)
	}
	return name(text, "labels of lower-case letters, digits and hyphens", func(s string) bool {
		return isDNSLabel(s) && s[len(s)-1] != '-' && !strings.ContainsFunc(s, func(c rune) bool { return 'A' <= c && c <= 'Z' || c == '_' })
	})
}

// name reads a full DNS name of which every label is good. labels says what
// that means.
func name(text, labels string, good func(string) bool) (string, error) {
	name := strings.TrimSuffix(text, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return "", fmt.Errorf("%.60q is an address: write a name", text)
	}
	if len(name) <= maxHostname {
		all := true
		for label := range strings.SplitSeq(name, ".") {
			all = all && good(label)
		}
		if all {
			return name, nil
		}
	}
	return "", fmt.Errorf("%.60q is no DNS name: write %s, at most %d bytes each and %d in all, with dots between", text, labels, maxLabel, maxHostname)
}

// isDNSLabel reports whether s is a label as DNS lets it pass, more or less.
func isDNSLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
