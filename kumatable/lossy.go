package kumatable

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/meshvip/coredns-meshvip/vip"
)

// surrogate finds the escape of half a character. Such halves come in pairs, or
// they are nothing that UTF-8 can say.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// lossyText reports whether the JSON decoder may have put U+FFFD in place of
// what it found in text. Two names could become one by that.
func lossyText(text []byte) bool {
	if !utf8.Valid(text) {
		return true
	}
	return (bytes.Contains(text, []byte(`\ud`)) || bytes.Contains(text, []byte(`\uD`))) && surrogate.Match(text)
}

// blurred reports whether U+FFFD in the texts may stand for something else that
// stood in m.
func (d *decoder) blurred(m member, texts ...string) bool {
	if !d.lossy {
		return false
	}
	for _, s := range texts {
		if strings.ContainsRune(s, utf8.RuneError) {
			return lossyText(d.text[m.at:m.end])
		}
	}
	return false
}

// textsOf returns all that outbounds say in words.
func textsOf(outbounds []vip.Outbound) []string {
	var texts []string
	for _, o := range outbounds {
		texts = append(texts, o.Origin)
		for _, t := range o.Tags {
			texts = append(texts, t.Key, t.Value)
		}
	}
	return texts
}
