package figures

import (
	"os"
	"strings"
)

// Processor returns what Linux calls the processor.
func Processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // unknown elsewhere
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
