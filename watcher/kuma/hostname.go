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
	name := strings.TrimSuffix(text, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return "", fmt.Errorf("%.60q is an address: write a name", text)
	}
	if len(name) <= maxHostname {
		good := true
		for label := range strings.SplitSeq(name, ".") {
			good = good && isLabel(label)
		}
		if good {
			return name, nil
		}
	}
	return "", fmt.Errorf("%.60q is no DNS name: write labels of letters, digits and hyphens, at most %d bytes each and %d in all, with dots between", text, maxLabel, maxHostname)
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
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
