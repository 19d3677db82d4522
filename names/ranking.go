package names

import "slices"

// ranked is what has a place among others of its sort.
type ranked[T any] interface{ compare(T) int }

// ranking is a sorted list, the first before all others. Of two elements that
// compare as equal, which are of one entry, it holds one.
type ranking[T ranked[T]] []T

// losers are the claims to a name that its owner, or the apex, is before.
type losers = ranking[claim]

func (l ranking[T]) find(c T) (int, bool) { return slices.BinarySearchFunc(l, c, T.compare) }

// put adds c, or puts it in the place of the same entry's.
func (l ranking[T]) put(c T) ranking[T] {
	i, ok := l.find(c)
	if ok {
		l[i] = c
		return l
	}
	return slices.Insert(l, i, c)
}

// drop removes what c's entry has here.
func (l ranking[T]) drop(c T) ranking[T] {
	if i, ok := l.find(c); ok {
		return slices.Delete(l, i, i+1)
	}
	return l
}
