// Package figures is what the commands that measure have in common: where is
// measured, how much processor time a process has used, and how numbers are
// printed.
package figures
