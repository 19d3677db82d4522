package allocator

// SetChunk makes a write at most n rows in one transaction.
func (a *Allocator) SetChunk(n int) { a.chunk = n }
