package allocator

// SetChunk makes a write at most n rows in one transaction.
func (a *Allocator) SetChunk(n int) { a.chunk = n }

// Sound reports what the look at a state while its table is built says of it.
func Sound(s State) bool {
	_, agree := buildTable(s)
	return agree && wellFormedRows(s) && plausible(s.Meta)
}
